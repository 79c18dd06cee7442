// A form that updates a part of the page: it fetches the server's page and takes that part of it.

const WAIT = 180;

export function liveForm(form) {
  const place = document.getElementById(form.dataset.live);
  const byQuery = form.method === "get";
  let last = 0;
  let timer = 0;

  async function show(submitter) {
    const mine = ++last;
    const fields = new FormData(form, submitter ?? null);
    const query = byQuery ? new URLSearchParams([...fields].filter(([, value]) => value !== "")) : null;
    const url = byQuery ? `${form.action.split("?")[0]}?${query}` : form.action;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, byQuery ? {} : { method: "POST", body: fields });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== last) return;
      const found = page.getElementById(place.id);
      if (!found || answer.redirected) {
        location.assign(answer.redirected ? answer.url : url);
        return;
      }
      place.replaceChildren(...found.childNodes);
      if (byQuery) history.replaceState(null, "", url);
      else place.scrollIntoView({ block: "nearest" });
      form.dispatchEvent(new CustomEvent("answered"));
    } catch {
      if (mine === last) place.textContent = "The server did not answer. Try again.";
    } finally {
      if (mine === last) place.removeAttribute("aria-busy");
    }
  }

  form.addEventListener("submit", (event) => {
    if (event.submitter?.dataset.whole !== undefined) return;
    event.preventDefault();
    clearTimeout(timer);
    show(event.submitter);
  });
  if (!byQuery) return;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  });
}

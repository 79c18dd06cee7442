// A form whose answer replaces a part of the page: the server's page is fetched and that part taken.

const WAIT = 180;

export function liveForm(form) {
  const place = document.getElementById(form.dataset.live);
  const asked = form.method === "get";
  let turn = 0;
  let timer = 0;

  async function show(submitter) {
    const mine = ++turn;
    const fields = new FormData(form, submitter ?? null);
    const query = asked ? new URLSearchParams([...fields].filter(([, value]) => value !== "")) : null;
    const url = asked ? `${form.action.split("?")[0]}?${query}` : form.action;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, asked ? {} : { method: "POST", body: fields });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== turn) return;
      const found = page.getElementById(place.id);
      if (!found || answer.redirected) {
        location.assign(answer.redirected ? answer.url : url);
        return;
      }
      place.replaceChildren(...found.childNodes);
      if (asked) history.replaceState(null, "", url);
      else place.scrollIntoView({ block: "nearest" });
      form.dispatchEvent(new CustomEvent("answered"));
    } catch {
      if (mine === turn) place.textContent = "The server did not answer. Try again.";
    } finally {
      if (mine === turn) place.removeAttribute("aria-busy");
    }
  }

  form.addEventListener("submit", (event) => {
    if (event.submitter?.dataset.whole !== undefined) return;
    event.preventDefault();
    clearTimeout(timer);
    show(event.submitter);
  });
  if (!asked) return;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  });
}

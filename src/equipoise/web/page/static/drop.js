// A file that is dropped or chosen is sent at once.

const box = document.getElementById("drop");
const field = document.getElementById("file");
const form = field.form;

field.addEventListener("change", () => field.files.length && form.requestSubmit());

for (const name of ["dragenter", "dragover"]) {
  box.addEventListener(name, (event) => {
    event.preventDefault();
    box.classList.add("over");
  });
}
box.addEventListener("dragleave", () => box.classList.remove("over"));
box.addEventListener("drop", (event) => {
  event.preventDefault();
  box.classList.remove("over");
  if (!event.dataTransfer.files.length) return;
  field.files = event.dataTransfer.files;
  form.requestSubmit();
});

// Everything that is folded up, at once.

export function addFolding(tools: HTMLElement): void {
  const all = [...document.querySelectorAll("details")];
  if (all.length < 2) return;
  const button = document.createElement("button");
  button.type = "button";
  const isFolded = () => all.some((one) => !one.open);
  const tell = () => (button.textContent = isFolded() ? "Unfold all" : "Fold all");
  button.addEventListener("click", () => {
    const open = isFolded();
    for (const one of all) one.open = open;
    tell();
  });
  for (const one of all) one.addEventListener("toggle", tell);
  tell();
  tools.append(button);
}

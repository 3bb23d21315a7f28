/** Put into the page by the test. */
interface Window {
  axe: typeof import("axe-core");
}

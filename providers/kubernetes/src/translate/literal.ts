/** Returns the value of a variable that is this text: a kubelet expands nothing in it, because `$$` is one dollar sign. */
export function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

/** Splits a command line like Docker's Python client (`shlex.split`): single quotes, double quotes, backslashes. */
export function shellSplit(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end < 0) throw new Error("No closing quotation");
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      word ??= "";
      for (at++; text.charAt(at) !== '"'; at++) {
        if (at >= text.length) throw new Error("No closing quotation");
        if (text.charAt(at) === "\\" && /["\\]/.test(text.charAt(at + 1))) at++;
        word += text.charAt(at);
      }
    } else word = (word ?? "") + (char === "\\" ? text.charAt(++at) : char);
  }
  if (word !== undefined) words.push(word);
  return words;
}

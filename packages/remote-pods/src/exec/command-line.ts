/** Returns a command line that a POSIX shell, or a back end that splits as one does, splits into these words again. */
export function toCommandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** A command line as Zun takes it: Docker's client splits it as a POSIX shell would. */
export function toCommandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Zun takes commands in the URL, and its web server takes no longer ones. Source: eventlet.wsgi's url_length_limit, 8192. */
const maxCommandLength = 7_000;

/** Whether a command line is longer than Zun takes. */
export function isTooLong(commandLine: string): boolean {
  return encodeURIComponent(commandLine).length > maxCommandLength;
}

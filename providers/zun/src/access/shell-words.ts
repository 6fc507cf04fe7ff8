/** Zun takes commands in the URL, and its web server takes no longer ones. Source: eventlet.wsgi's url_length_limit, 8192. */
const maxCommandLength = 7_000;

/** Whether a command line is longer than Zun takes. */
export function isTooLong(commandLine: string): boolean {
  return encodeURIComponent(commandLine).length > maxCommandLength;
}

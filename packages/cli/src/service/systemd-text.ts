import { UsageError } from "../program-error.ts";

/**
 * A word of `ExecStart=` after the program's path. systemd removes the quotes, decodes escapes, replaces specifiers (`%h`), and then replaces
 * variables (`$HOME`).
 *
 * Source: systemd.service(5), "Command lines", and systemd.syntax(7), "Quoting".
 *
 * @throws UsageError for control characters
 */
export function commandWord(word: string): string {
  return quoted(word.replaceAll("$", "$$$$"));
}

/**
 * The program of `ExecStart=`. systemd does not replace variables in it.
 *
 * @throws UsageError for characters that systemd refuses in it
 */
export function commandPath(path: string): string {
  if (/["'\\]/.test(path))
    throw new UsageError(
      `${JSON.stringify(path)}: systemd runs no program whose path has quotes or backslashes; install Node.js elsewhere`,
    );
  return quoted(path);
}

/** An assignment of `Environment=`, in which `$` has no meaning. @throws UsageError for control characters */
export function environmentWord(name: string, value: string): string {
  return quoted(`${name}=${value}`, true);
}

/**
 * A line of the file of `EnvironmentFile=`. systemd replaces nothing in it.
 *
 * Source: systemd v252 src/basic/env-file.c, parse_env_file_internal.
 *
 * @throws UsageError for control characters
 */
export function environmentFileLine(name: string, value: string): string {
  refuseControls(value, name);
  return `${name}="${value.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`;
}

/** A text that is the rest of its line, in which systemd replaces only specifiers. @throws UsageError for control characters and spaces at its end */
export function restOfLine(text: string): string {
  refuseControls(text);
  if (text !== text.trimEnd() || text.endsWith("\\"))
    throw new UsageError(
      `${JSON.stringify(text)}: expected a text that ends with neither a space nor a backslash, because systemd would change it`,
    );
  return text.replaceAll("%", "%%");
}

/** Quotes only where necessary, so that usual lines stay as people would write them. */
function quoted(word: string, isAlways: boolean = false): string {
  refuseControls(word);
  const text = word.replaceAll("%", "%%").replaceAll(/["\\]/g, String.raw`\$&`);
  return !isAlways && /^[\w@%+=:,./$-]+$/.test(text) ? text : `"${text}"`;
}

/** A value is not shown if it belongs to a variable, because it may be secret. */
function refuseControls(text: string, variable?: string): void {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (!/[\u0000-\u001F\u007F]/.test(text)) return;
  throw new UsageError(
    `${variable ?? JSON.stringify(text)}: contains a line break or another control character, which a systemd unit cannot have; put the value into a file`,
  );
}

import type { LogLevel } from "../config/settings.ts";
import type { LogRecord } from "./logger.ts";

/** One JSON object: `time`, `level`, `msg`, then the fields. */
export function formatJson({ level, timeMs, message, fields }: LogRecord): string {
  const head = { time: new Date(timeMs).toISOString(), level, msg: message };
  try {
    return escaped(JSON.stringify({ ...head, ...fields, ...head }));
  } catch (error) {
    // A cyclic field or a bigint must not lose the record.
    return escaped(JSON.stringify({ ...head, logError: String(error) }));
  }
}

const colours: Readonly<Record<LogLevel, string>> = { debug: "2", info: "32", warn: "33", error: "31" };

/** Text in the style of klog: level, month and day, local time, message, `field=value`. @param coloured - color the level */
export function formatText(coloured: boolean): (record: LogRecord) => string {
  return ({ level, timeMs, message, fields }) => {
    const letter = level.charAt(0).toUpperCase();
    const mark = coloured ? `\u001b[${colours[level]}m${letter}\u001b[0m` : letter;
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${formatValue(value)}`);
    return `${mark}${formatTime(timeMs)} ${escaped(`${message}${shown.join("")}`)}`;
  };
}

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const control = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Escapes characters that move a terminal's cursor, end a line or change the direction of text. Callers can put texts into the log, such as
 * a command's name, and must not be able to forge log lines.
 */
export function escaped(text: string): string {
  return text.replaceAll(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function formatTime(timeMs: number): string {
  const time = new Date(timeMs);
  const pad = (value: number, width: number = 2): string => String(value).padStart(width, "0");
  return `${pad(time.getMonth() + 1)}${pad(time.getDate())} ${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}.${pad(time.getMilliseconds(), 3)}`;
}

function formatValue(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return typeof value === "string" && /[\s"=]|^$/.test(text) ? JSON.stringify(text) : text;
}

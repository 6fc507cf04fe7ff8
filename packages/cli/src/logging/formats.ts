import type { LogLevel } from "../config/settings.ts";
import type { LogRecord } from "./logger.ts";

/** One JSON object: `time`, `level`, `msg`, then the fields. */
export function formatJson({ level, timeMs, message, fields }: LogRecord): string {
  const head = { time: new Date(timeMs).toISOString(), level, msg: message };
  try {
    return JSON.stringify({ ...head, ...fields, ...head });
  } catch (error) {
    // A field that holds itself, or a bigint: a lost record would be worse.
    return JSON.stringify({ ...head, logError: String(error) });
  }
}

const colours: Readonly<Record<LogLevel, string>> = { debug: "2", info: "32", warn: "33", error: "31" };

/**
 * For people, after klog: level, month and day, local time, message, `field=value`.
 *
 * @param coloured - whether the level has a colour
 */
export function formatText(coloured: boolean): (record: LogRecord) => string {
  return ({ level, timeMs, message, fields }) => {
    const letter = level.charAt(0).toUpperCase();
    const mark = coloured ? `\u001b[${colours[level]}m${letter}\u001b[0m` : letter;
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${formatValue(value)}`);
    return `${mark}${formatTime(timeMs)} ${message}${shown.join("")}`;
  };
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

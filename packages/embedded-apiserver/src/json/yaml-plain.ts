/**
 * Whether a text can be written without quotes: it would not be read as something else, such as a number or a time.
 *
 * Source: go.yaml.in/yaml/v2 v2.4.3 resolve.go, `resolve`, and encode.go, `stringv`.
 */
export function isReadAsText(text: string): boolean {
  if (text === "" || words.has(text)) return false;
  if (text.startsWith(".")) return !/^\.\d[\d_]*(e[+-]?\d+)?$/i.test(text);
  return !/^[+\-\d]/.test(text) || !(isTimestamp(text) || isNumber(text.replaceAll("_", "")) || base60Float.test(text));
}

const words: ReadonlySet<string> = new Set(
  ["y", "n", "yes", "no", "true", "false", "on", "off", "~", "null", ".inf", "+.inf", "-.inf"]
    .flatMap((word) => [word, word.toUpperCase(), word.replace(/[a-z]/, (letter) => letter.toUpperCase())])
    .concat(".nan", ".NaN", ".NAN"),
);

const base60Float = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
const integer = /^[+-]?(0x[\da-f]+|0o?[0-7]*|0b[01]+|[1-9]\d*)$/i;
const float = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

function isNumber(plain: string): boolean {
  return float.test(plain) || integer.test(plain);
}

const timestamp =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text);
  if (match === null) return false;
  const [, year = 0, month = 0, day = 0, ...clock] = match.map(Number);
  const [hour = 0, minute = 0, second = 0] = clock.filter((part) => !Number.isNaN(part));
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
  return isDay && hour < 24 && minute < 60 && second < 60;
}

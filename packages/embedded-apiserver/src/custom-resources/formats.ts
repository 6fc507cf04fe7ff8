import { isIPv6 } from "node:net";
import type { JsonSchema } from "./crd-fields.ts";
import { dateTimeHasFormat, dateHasFormat } from "./date-formats.ts";
import { urlProblem } from "./request-uri.ts";

/**
 * Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/formats.go, k8s.io/kube-openapi pkg/validation/strfmt, and
 * github.com/asaskevich/govalidator.
 */

const hex = "[0-9a-f]";
const uuid = (third: string, fourth: string): RegExp => new RegExp(`^${hex}{8}-?${hex}{4}-?${third}-?${fourth}-?${hex}{12}$`, "i");
const channel = String.raw`\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`;
const shortName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const cardNumber =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14})$/;
const hostname =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;

const checks: Readonly<Record<string, (value: string) => boolean>> = {
  bsonobjectid: (value) => /^[0-9a-fA-F]{24}$/.test(value),
  byte: (value) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(value),
  cidr: isCidr,
  creditcard: (value) => isCardNumber(value.replaceAll(/[\s-]+/g, "")),
  date: dateHasFormat,
  datetime: dateTimeHasFormat,
  duration: isDuration,
  email: isEmail,
  hexcolor: (value) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(value),
  hostname: (value) => hostname.test(value) && size(value) <= 255 && value.split(".").every((label) => size(label) <= 63),
  ipv4: (value) => isAddress(value) && value.includes("."),
  ipv6: (value) => isIPv6(value) && !value.includes("%"),
  isbn: (value) => isIsbn10(value) || isIsbn13(value),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  k8slongname: (value) => value.length <= 253 && value.split(".").every((label) => shortName.test(label)),
  k8sshortname: (value) => value.length <= 63 && shortName.test(value),
  mac: isMac,
  password: () => true,
  rgbcolor: (value) => new RegExp(String.raw`^rgb\(${channel},${channel},${channel}\)$`).test(value),
  ssn: (value) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(value),
  uri: (value) => urlProblem(value) === undefined,
  uuid: (value) => uuid(`${hex}{4}`, `${hex}{4}`).test(value),
  uuid3: (value) => uuid(`3${hex}{3}`, `${hex}{4}`).test(value),
  uuid4: (value) => uuid(`4${hex}{3}`, `[89ab]${hex}{3}`).test(value),
  uuid5: (value) => uuid(`5${hex}{3}`, `[89ab]${hex}{3}`).test(value),
};

/**
 * Format of a schema; empty if it is not one of those for the type, which are ignored.
 *
 * Source: formats.go, `StripUnsupportedFormatsPostProcessorForVersion`.
 */
export function schemaFormat({ type = "", format = "" }: JsonSchema): string {
  if (format === "") return "";
  if (type === "integer") return format === "int32" || format === "int64" ? format : "";
  if (type === "number") return format === "float" || format === "double" ? format : "";
  return (type === "" || type === "string") && Object.hasOwn(checks, normalName(format)) ? format : "";
}

/** Whether a string has a format. Formats that the real server does not know are not checked. */
export function isOfFormat(format: string, value: string): boolean {
  const name = normalName(format);
  return !Object.hasOwn(checks, name) || checks[name]?.(value) === true;
}

/** `date-time` and `datetime` are the same. */
function normalName(format: string): string {
  return format.replaceAll("-", "");
}

function size(text: string): number {
  return Buffer.byteLength(text);
}

/** An address; numbers of version 4 may have leading zeros. Source: k8s.io/utils/internal/third_party/forked/golang/net/ip.go. */
function isAddress(value: string): boolean {
  if (value.includes(":")) return isIPv6(value) && !value.includes("%");
  const fields = value.split(".");
  return fields.length === 4 && fields.every((field) => /^\d+$/.test(field) && Number(field) <= 255);
}

function isCidr(value: string): boolean {
  const [, address = "", bits = ""] = /^(.*)\/(\d+)$/s.exec(value) ?? [];
  return bits !== "" && isAddress(address) && Number(bits) <= (address.includes(":") ? 128 : 32);
}

/** 6, 8 or 20 bytes. Source: Go's net/mac.go. */
function isMac(value: string): boolean {
  const groups = [/^..([:-])(..\1)*..$/, /^.{4}(\.)(.{4}\.)*.{4}$/].some((form) => form.test(value));
  const digits = groups ? value.replaceAll(/[:.-]/g, "") : value;
  return /^[0-9a-fA-F]+$/.test(digits) && [12, 16, 40].includes(digits.length);
}

/** Luhn's check. */
function isCardNumber(digits: string): boolean {
  if (!cardNumber.test(digits)) return false;
  const values = Array.from(digits, Number).toReversed();
  const sum = values.reduce((total, digit, index) => total + (index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return sum % 10 === 0;
}

function isIsbn10(value: string): boolean {
  const characters = value.replaceAll(/[\s-]+/g, "");
  if (!/^\d{9}[\dX]$/.test(characters)) return false;
  const sum = Array.from(characters).reduce((total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(value: string): boolean {
  const digits = value.replaceAll(/[\s-]+/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  return Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** A duration of Go, or any text with a number and a unit of Scala. Source: strfmt/duration.go. */
function isDuration(value: string): boolean {
  if (/^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/.test(value)) return true;
  // A number that is not followed by a unit is read once, not from each of its digits.
  return [...value.matchAll(/(?<!\d)\d+\s*([A-Za-zµ]+)/g)].some(([, unit = ""]) => isUnit(unit.toLowerCase()));
}

function isUnit(unit: string): boolean {
  const names = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
  return names.includes(unit) || ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"].some((name) => unit.startsWith(name));
}

/** An address with or without a name. Source: Go's net/mail; comments and encoded names are not read. */
function isEmail(value: string): boolean {
  const letter = String.raw`[\w!#$%&'*+/=?^${"`"}{|}~\u0080-\u{10FFFF}-]`;
  const dotAtom = `${letter}+(\\.${letter}+)*`;
  const quoted = String.raw`"([^"\\\u0000-\u001F\u007F]|\\[\u0020-\u007E\u0080-\u{10FFFF}])*"`;
  const address = `(${dotAtom}|${quoted})@(${dotAtom}|\\[[^\\[\\]\\\\]*\\])`;
  const name = `(${letter}|${quoted}|[\\s.])*`;
  return new RegExp(`^(\\s*${address}|${name}<${address}>)\\s*$`, "u").test(value);
}

import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isJsonObject } from "@virtual-kubelet/kubernetes";

/** A kubeconfig as returned by the YAML parser. */
export type Fields = Readonly<Record<string, unknown>>;

/** Type of a field if it is set, and the hint for any other type. */
interface FieldType {
  readonly isGood: (value: unknown) => boolean;
  readonly expected: string;
}

const text: FieldType = { isGood: (value) => typeof value === "string", expected: "a text: put it in quotes" };
const flag: FieldType = { isGood: (value) => typeof value === "boolean", expected: "true or false, without quotes" };
const map: FieldType = { isGood: isJsonObject, expected: "fields with values" };
const texts: FieldType = {
  isGood: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  expected: "a list of texts: put each in quotes",
};
const variables: FieldType = {
  isGood: (value) =>
    Array.isArray(value) && value.every((item) => isJsonObject(item) && isText(item["name"]) && typeof item["value"] === "string"),
  expected: "a list of variables, each with a name and a value that are texts: put each in quotes",
};

const clusterFields: Readonly<Record<string, FieldType>> = {
  server: text,
  "certificate-authority": text,
  "certificate-authority-data": text,
  "tls-server-name": text,
  "insecure-skip-tls-verify": flag,
  "proxy-url": text,
};

const userFields: Readonly<Record<string, FieldType>> = {
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  exec: map,
  "auth-provider": map,
};

const execFields: Readonly<Record<string, FieldType>> = {
  apiVersion: text,
  command: text,
  args: texts,
  env: variables,
  interactiveMode: text,
  installHint: text,
  provideClusterInfo: flag,
};

const contextFields: Readonly<Record<string, FieldType>> = { cluster: text, user: text, namespace: text };

/** Standard base64 with padding, as Go accepts it. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Checks the types of all entries of a kubeconfig, as kubectl does. Errors show no values, which may be secrets.
 *
 * @throws InvalidInputError naming the entry, the field, and the expected type
 */
export function checkFields(config: Fields): void {
  checkField("it", config, "current-context", text);
  checkEntries(config, "clusters", "cluster", clusterFields);
  checkEntries(config, "users", "user", userFields);
  checkEntries(config, "contexts", "context", contextFields);
}

function checkEntries(config: Fields, list: string, kind: string, types: Readonly<Record<string, FieldType>>): void {
  const entries = config[list];
  if (isNothing(entries)) return;
  if (!Array.isArray(entries)) throw wrong("it", list, entries, `a list of entries with name and ${kind}`);
  entries.forEach((entry: unknown, index) => {
    if (!isJsonObject(entry)) throw wrong("it", `${list}[${index}]`, entry, `an entry with name and ${kind}`);
    checkField("it", { [`${list}[${index}].name`]: entry["name"] }, `${list}[${index}].name`, text);
    const content = entry[kind];
    if (isNothing(content)) return;
    const who = `${kind} "${String(entry["name"])}"`;
    if (!isJsonObject(content)) throw wrong(who, kind, content, "fields with values");
    for (const [field, type] of Object.entries(types)) checkField(who, content, field, type);
    for (const field of Object.keys(types).filter((name) => name.endsWith("-data"))) checkBase64(who, content, field);
    const { exec } = content;
    if (isJsonObject(exec)) for (const [field, type] of Object.entries(execFields)) checkField(`${who}: exec`, exec, field, type);
  });
}

function checkField(who: string, fields: Fields, name: string, { isGood, expected }: FieldType): void {
  const value = fields[name];
  if (!isNothing(value) && !isGood(value)) throw wrong(who, name, value, expected);
}

function checkBase64(who: string, fields: Fields, name: string): void {
  const value = fields[name];
  if (typeof value !== "string" || base64.test(value.replaceAll(/\s/g, ""))) return;
  const file = name.replace(/-data$/, "");
  throw new InvalidInputError(
    `${who} has ${name} that is not base64, expected what \`base64\` makes of the PEM file; or name the file in ${file}`,
  );
}

function wrong(who: string, field: string, value: unknown, expected: string): InvalidInputError {
  return new InvalidInputError(`${who} has ${typeNameOf(value)} for ${field}, expected ${expected}`);
}

function typeNameOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "number" || typeof value === "bigint") return "a number";
  if (typeof value === "boolean") return "true or false";
  return Array.isArray(value) ? "a list" : "a map";
}

function isNothing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

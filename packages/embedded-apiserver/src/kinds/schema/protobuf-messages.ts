import { readFileSync } from "node:fs";
import { once } from "./once.ts";

/** A field of a message. */
export interface MessageField {
  readonly number: number;
  /** JSON name; empty for an inlined field. */
  readonly name: string;
  /** `pointer`: left out if absent, while other single fields are always written. */
  readonly shape: "one" | "pointer" | "list" | "map";
  /** Scalar or message, such as `core.v1.Container`. */
  readonly type: string;
}

interface MessageFile {
  /** Message by kind, such as `apps/v1 Deployment`. */
  readonly kinds: Readonly<Record<string, string>>;
  /**
   * Number and type of each field by message, such as `2 []core.v1.Container`; `*` marks a pointer, and `...` before the name a field that
   * is inlined.
   */
  readonly messages: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Loaded with the first protobuf body, because many clients use JSON. */
const messageFile = once((): MessageFile =>
  JSON.parse(readFileSync(new URL("../../../data/protobuf-messages.json", import.meta.url), "utf8")),
);

const parsed = new Map<string, readonly MessageField[]>();

/** Message of a kind; `undefined` for kinds without one, such as custom resources. */
export function messageOfKind(apiVersion: string, kind: string): string | undefined {
  return messageFile().kinds[`${apiVersion} ${kind}`];
}

/** Fields of a message, ordered by number. */
export function messageFields(message: string): readonly MessageField[] {
  let fields = parsed.get(message);
  if (fields === undefined) {
    fields = Object.entries(messageFile().messages[message] ?? {})
      .map(([name, text]) => parseField(name, text))
      .toSorted((a, b) => a.number - b.number);
    parsed.set(message, fields);
  }
  return fields;
}

const declared = new Map<string, readonly MessageField[]>();

/** Fields of a message in the order of Go's struct, which is that of Go's JSON. Inlined fields are replaced by theirs. */
export function declaredFields(message: string): readonly MessageField[] {
  let fields = declared.get(message);
  if (fields === undefined) {
    fields = Object.entries(messageFile().messages[message] ?? {})
      .map(([name, text]) => parseField(name, text))
      .flatMap((field) => (field.name === "" ? declaredFields(field.type) : [field]));
    declared.set(message, fields);
  }
  return fields;
}

const shapes: Readonly<Record<string, MessageField["shape"]>> = { "*": "pointer", "[]": "list", "map ": "map" };

function parseField(name: string, text: string): MessageField {
  const [, number = "", mark = "", type = ""] = /^(\d+) (\[\]|map |\*)?(.+)$/.exec(text) ?? [];
  return { number: Number(number), name: name.startsWith("...") ? "" : name, shape: shapes[mark] ?? "one", type };
}

/** Whether a message is a list in JSON: its only field is `items`. */
export function isItemsMessage(message: string): boolean {
  return message.endsWith(".ExtraValue") || message === "meta.v1.Verbs";
}

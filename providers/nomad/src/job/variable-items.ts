import { createHash } from "node:crypto";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadVariable } from "../api/types.ts";

/** The most that the items of one variable may be, names and values together, in bytes. Source: Nomad, `maxVariableSize`. */
const maxVariableBytes = 65_536;

/** Collects items of variables. Stores each value under a path and returns a template that reads it. */
export interface ItemStore {
  /** Returns a template expression for the value, to be piped into functions. */
  text(path: string, place: string, value: string): string;
  /** Returns a template that writes exactly these bytes, also after the item has changed. */
  bytes(path: string, place: string, content: Uint8Array): string;
  /** Variables to write. */
  variables(): readonly NomadVariable[];
  /** Whether everybody who may read the job can read any of the values. */
  readonly isReadable: boolean;
}

/** Stores values in Nomad Variables. */
export class VariableStore implements ItemStore {
  readonly isReadable: boolean = false;
  readonly #items = new Map<string, Map<string, string>>();

  text(path: string, place: string, value: string): string {
    const key = itemKey("e", place);
    this.#put(path, key, value);
    return inVariable(path, `{{ .${key}.Value | toJSON }}`);
  }

  bytes(path: string, place: string, content: Uint8Array): string {
    const [key, value] = fileItem(place, content);
    this.#put(path, key, value);
    return fileTemplate(path, place);
  }

  /** @throws UnsupportedError for more than a variable holds */
  variables(): readonly NomadVariable[] {
    return [...this.#items].map(([Path, items]) => {
      const variable = { Path, Items: Object.fromEntries([...items].toSorted(([a], [b]) => (a < b ? -1 : 1))) };
      checkSize(variable);
      return variable;
    });
  }

  #put(path: string, key: string, value: string): void {
    const items = this.#items.get(path) ?? new Map<string, string>();
    this.#items.set(path, items.set(key, value));
  }
}

/** Stores values in the templates themselves, where everybody who may read the job can read them. */
export class InlineStore implements ItemStore {
  isReadable: boolean = false;

  text(_path: string, _place: string, value: string): string {
    this.isReadable = true;
    return `{{ "${Buffer.from(value).toString("base64")}" | base64Decode | toJSON }}`;
  }

  bytes(_path: string, _place: string, content: Uint8Array): string {
    this.isReadable = true;
    return `{{ "${Buffer.from(content).toString("base64")}" | base64Decode }}`;
  }

  variables(): readonly NomadVariable[] {
    return [];
  }
}

/** Item that holds a file: as text if possible, else in Base64. */
export function fileItem(place: string, content: Uint8Array): readonly [key: string, value: string] {
  const text = Buffer.from(content).toString("utf8");
  return Buffer.from(text).equals(content) ? [itemKey("t", place), text] : [itemKey("b", place), Buffer.from(content).toString("base64")];
}

/** Keys that an item with a file may have. */
export function fileKeys(place: string): readonly [text: string, base64: string] {
  return [itemKey("t", place), itemKey("b", place)];
}

/** @throws UnsupportedError for more than a variable holds */
export function checkSize({ Path, Items }: NomadVariable): void {
  const size = Object.entries(Items).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (size <= maxVariableBytes) return;
  const fieldPath = "spec.volumes";
  throw new UnsupportedError(
    `${fieldPath}: the contents of the pod's secrets and config maps come to ${size} bytes in variable ${Path}, of which Nomad takes ${maxVariableBytes}; mount less of them, or put them on a volume`,
    { fieldPath },
  );
}

function fileTemplate(path: string, place: string): string {
  const [text, base64] = fileKeys(place);
  return inVariable(path, `{{ if .${text}.Key }}{{ .${text}.Value }}{{ else }}{{ .${base64}.Value | base64Decode }}{{ end }}`);
}

function inVariable(path: string, inner: string): string {
  return `{{ with nomadVar "${path}" }}${inner}{{ end }}`;
}

/** Key that templates can name, independent of all other items. */
function itemKey(kind: "e" | "t" | "b", place: string): string {
  return kind + createHash("sha256").update(place).digest("hex").slice(0, 16);
}

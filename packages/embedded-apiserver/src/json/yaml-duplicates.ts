import type { Alias, Document, LineCounter, Pair, YAMLMap } from "yaml";
import { goQuoted } from "./go-quote.ts";

type Yaml = typeof import("yaml");

/** A parsed document with what is needed to walk it. */
interface Source {
  /** The library, which is loaded on first use. */
  readonly yaml: Pick<Yaml, "isAlias" | "isMap" | "isNode" | "isScalar" | "isSeq">;
  readonly document: Document.Parsed;
  readonly lineCounter: LineCounter;
}

/**
 * Keys that occur twice in a map of a document, such as `line 3: key "a" already set in map`, in the order in which Go's decoder finds them: the keys
 * of a value come before its own, aliases are read each time, and the keys of merged maps count. The line is that of the value.
 *
 * Source: go.yaml.in/yaml v2.4.3 decode.go, `mapping`, `merge` and `setMapIndex`.
 */
export function duplicateKeys(source: Source): string[] {
  const walk = new DuplicateKeys(source);
  walk.read(source.document.contents);
  return walk.problems;
}

class DuplicateKeys {
  readonly problems: string[] = [];
  readonly #source: Source;
  /** Targets of the aliases that are being read. An alias inside its own anchor is not read again. */
  readonly #open = new Set<unknown>();

  constructor(source: Source) {
    this.#source = source;
  }

  read(node: unknown): void {
    const { yaml } = this.#source;
    if (yaml.isMap(node)) this.#readMap(node, new Set());
    else if (yaml.isSeq(node)) for (const item of node.items) this.read(item);
    else if (yaml.isAlias(node)) this.#follow(node, (target) => this.read(target));
  }

  #readMap(map: YAMLMap, seen: Set<string>): void {
    const { yaml } = this.#source;
    for (const pair of map.items) {
      const key = yaml.isScalar(pair.key) ? pair.key.value : pair.key;
      if (typeof key === "symbol") {
        this.#merge(pair.value, seen);
        continue;
      }
      this.read(pair.value);
      const printed = typeof key === "string" ? goQuoted(key) : String(key);
      const identity = `${typeof key} ${printed}`;
      if (seen.has(identity)) this.problems.push(`line ${String(this.#lineOf(pair))}: key ${printed} already set in map`);
      seen.add(identity);
    }
  }

  #merge(value: unknown, seen: Set<string>): void {
    const { yaml } = this.#source;
    if (yaml.isMap(value)) this.#readMap(value, seen);
    else if (yaml.isSeq(value)) for (const item of value.items.toReversed()) this.#merge(item, seen);
    else if (yaml.isAlias(value)) this.#follow(value, (target) => this.#merge(target, seen));
  }

  #follow(alias: Alias, read: (target: unknown) => void): void {
    const target = alias.resolve(this.#source.document);
    if (target === undefined || this.#open.has(target)) return;
    this.#open.add(target);
    read(target);
    this.#open.delete(target);
  }

  /** An anchor or a tag belongs to the value, and stands beside its key. */
  #lineOf({ key, value }: Pair): number {
    const { yaml, lineCounter } = this.#source;
    const hasProperties = yaml.isNode(value) && !yaml.isAlias(value) && (value.anchor !== undefined || value.tag !== undefined);
    const place = yaml.isNode(value) && !hasProperties ? value : key;
    return lineCounter.linePos(yaml.isNode(place) ? (place.range?.[0] ?? 0) : 0).line;
  }
}

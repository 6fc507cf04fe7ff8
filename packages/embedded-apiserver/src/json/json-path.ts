import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonValue } from "./json-value.ts";

type Step =
  | { readonly kind: "member"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | { readonly kind: "filter"; readonly path: string; readonly operator: string; readonly value: string };

/** Compiles a path such as `.status.conditions[?(@.type=="Ready")].status`. @returns a function that returns the first match */
export function compileJsonPath(path: string): (value: JsonValue) => JsonValue | undefined {
  const steps = parseSteps(path);
  return (value) => {
    let found: JsonValue[] = [value];
    for (const step of steps) found = found.flatMap((one) => take(one, step));
    return found[0];
  };
}

const token =
  /\.?((?:\\.|[^.[\]{}\\])+)|\.?\[(\d+)\]|\.?\[(\*)\]|\.?\['([^']*)'\]|\.?\["([^"]*)"\]|\[\?\(@([^=!<>]*?)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([^)]*))\)\]/y;

function parseSteps(path: string): Step[] {
  const steps: Step[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    // An invalid path matches nothing.
    if (match === null) return [{ kind: "index", index: -1 }];
    const [, name, index, all, quoted, doubled, filtered, operator = "==", a, b, c] = match;
    if (index !== undefined) steps.push({ kind: "index", index: Number(index) });
    else if (all !== undefined) steps.push({ kind: "all" });
    else if (filtered !== undefined) steps.push({ kind: "filter", path: filtered, operator, value: a ?? b ?? c ?? "" });
    else steps.push({ kind: "member", name: name?.replaceAll(/\\(.)/g, "$1") ?? quoted ?? doubled ?? "" });
  }
  return steps;
}

function take(value: JsonValue, step: Step): JsonValue[] {
  switch (step.kind) {
    case "member": {
      const member = isJsonObject(value) ? ownValue(value, step.name) : undefined;
      return member === undefined ? [] : [member];
    }
    case "index": {
      const item = Array.isArray(value) ? value[step.index] : undefined;
      return item === undefined ? [] : [item];
    }
    case "all":
      return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
    case "filter":
      return Array.isArray(value) ? value.filter((item) => passes(item, step)) : [];
    default:
      return step satisfies never;
  }
}

function passes(item: JsonValue, { path, operator, value }: Extract<Step, { kind: "filter" }>): boolean {
  const found = compileJsonPath(path)(item);
  const isEqual = found !== undefined && String(found) === value;
  return operator === "==" ? isEqual : !isEqual;
}

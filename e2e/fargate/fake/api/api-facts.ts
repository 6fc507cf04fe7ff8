import { readFileSync } from "node:fs";

/** The kinds of values in AWS's models that need no further description. */
type PlainType = "string" | "integer" | "long" | "double" | "float" | "boolean" | "timestamp" | "blob";

/** What AWS's model says of a type. `members`, `member`, `key` and `value` name a {@link PlainType} or another shape. */
export interface ShapeFacts {
  readonly type: PlainType | "structure" | "list" | "map";
  readonly enum?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly members?: Readonly<Record<string, string>>;
  readonly member?: string;
  readonly key?: string;
  readonly value?: string;
}

/** What AWS's model says of an operation: the shapes of its request and answer, and the errors that it documents. */
interface OperationFacts {
  readonly input: string;
  readonly output?: string;
  readonly errors: readonly string[];
}

/** The part of a service's model that the fake is held to, written by `moto/export_facts.py`. */
export interface ApiFacts {
  /** Version of the model. */
  readonly source: string;
  /** Part of the header `X-Amz-Target` before the operation. */
  readonly targetPrefix: string;
  readonly operations: Readonly<Record<string, OperationFacts>>;
  readonly shapes: Readonly<Record<string, ShapeFacts>>;
}

/** Services of the fake. */
export type ServiceName = "ecs" | "logs";

/** Reads the facts of a service. */
export function readFacts(service: ServiceName): ApiFacts {
  return JSON.parse(readFileSync(new URL(`./${service}-facts.json`, import.meta.url), "utf8")) as ApiFacts;
}

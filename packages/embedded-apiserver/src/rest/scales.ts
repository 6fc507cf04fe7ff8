import type { JsonObject } from "../json/json-value.ts";
import type { Kind } from "../kinds/kind.ts";
import type { Steps } from "./steps.ts";

/** The `scale` subresources of a cluster's objects, as a controller uses them. */
export interface Scales {
  /** Reads a scale. Waits only for a conversion webhook. @throws ApiStatusError 404, or 500 if there are no replicas */
  readScale(kind: Kind, namespace: string, name: string): Steps<JsonObject>;
  /** Sets the replicas of a scale. Waits only for webhooks. @throws ApiStatusError */
  writeScale(kind: Kind, namespace: string, name: string, replicas: number): Steps<void>;
}

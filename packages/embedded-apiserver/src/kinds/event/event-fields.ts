import type { ApiObject } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";

/** Fields of a core/v1 Event. */
export interface EventFields {
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  source: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  count?: number;
  type?: string;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string | null };
  action?: string;
  reportingComponent: string;
  reportingInstance: string;
}

export function eventFields(event: Readonly<ApiObject>): EventFields {
  // Every stored event has been decoded with its kind's schema.
  return event as unknown as EventFields;
}

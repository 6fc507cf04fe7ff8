import type { ApiObject } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";

/** An event as core/v1 has it. */
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

/** The fields of an event. */
export function eventFields(event: Readonly<ApiObject>): EventFields {
  // Every stored event has been read through the schema of its kind.
  return event as unknown as EventFields;
}

import { accessRequests } from "./access-requests.ts";
import { applyRequests } from "./apply-requests.ts";
import { customRequests } from "./custom-requests.ts";
import { discoveryRequests } from "./discovery-requests.ts";
import { plainRequests } from "./plain-requests.ts";
import { readRequests } from "./read-requests.ts";
import type { RequestGroup } from "./request.ts";
import { workloadRequests } from "./workload-requests.ts";
import { writeRequests } from "./write-requests.ts";

/** Requests that both servers answer, in their order. */
export const requestGroups: readonly RequestGroup[] = [
  ...discoveryRequests,
  ...readRequests,
  ...writeRequests,
  ...applyRequests,
  ...workloadRequests,
  ...plainRequests,
  ...accessRequests,
  ...customRequests,
];

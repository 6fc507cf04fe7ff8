import type { Kind } from "../kind.ts";
import { admissionRegistrationKinds } from "./admission-registration.ts";
import { apiServiceKind } from "./api-service.ts";
import { horizontalPodAutoscalerKind } from "./autoscaling.ts";
import { olderAutoscalerKind } from "./autoscaling-v1.ts";
import { dynamicResourceKinds } from "./dynamic-resources.ts";
import { endpointKinds } from "./endpoints.ts";
import { flowControlKinds } from "./flow-control.ts";
import { networkingKinds } from "./networking.ts";
import { quotaKinds } from "./quotas.ts";
import { priorityClassKind, runtimeClassKind } from "./scheduling.ts";
import { storageDriverKinds } from "./storage-drivers.ts";

/** All kinds that are stored and validated, but on which the server does not act. */
export const plainKinds: readonly Kind[] = [
  ...endpointKinds,
  ...quotaKinds,
  horizontalPodAutoscalerKind,
  olderAutoscalerKind,
  ...networkingKinds,
  runtimeClassKind,
  priorityClassKind,
  ...storageDriverKinds,
  ...admissionRegistrationKinds,
  apiServiceKind,
  ...flowControlKinds,
  ...dynamicResourceKinds,
];

import type { AdmissionContext } from "./admission-context.ts";
import type { AdmissionPlugin } from "./admission-plugin.ts";
import { certificateRequests, nodeRestriction, priority, roleEscalation } from "./builtin/builtin-plugins.ts";

/** The plugins of a server, in the order of the real one; source: Kubernetes v1.36.3 pkg/kubeapiserver/options/plugins.go, `AllOrderedPlugins`. */
export function createAdmissionPlugins(context: AdmissionContext): readonly AdmissionPlugin[] {
  return [nodeRestriction(context), priority(), certificateRequests(context), roleEscalation(context)];
}

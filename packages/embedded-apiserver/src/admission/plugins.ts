import { createExpressionLoader } from "../cel/expression-loader.ts";
import type { AdmissionContext } from "./admission-context.ts";
import type { AdmissionPlugin } from "./admission-plugin.ts";
import { createMutatingPolicies } from "./policies/mutating-policies.ts";
import { createValidatingPolicies } from "./policies/validating-policies.ts";
import { createLimitRanger } from "./limit-ranger/limit-ranger.ts";
import { createResourceQuotaPlugin } from "./resource-quota/resource-quota.ts";
import { resolveService } from "../outbound/service-resolver.ts";
import { WebhookClient } from "../outbound/webhook-client.ts";
import { mutatingWebhooks, validatingWebhooks } from "./webhook/webhook-plugins.ts";
import { certificateRequests, nodeRestriction, priority, roleEscalation } from "./builtin/builtin-plugins.ts";
import { createPodSecurity } from "./pod-security/pod-security.ts";

/** The plugins of a server, in the order of the real one; source: Kubernetes v1.36.3 pkg/kubeapiserver/options/plugins.go, `AllOrderedPlugins`. */
export function createAdmissionPlugins(context: AdmissionContext): readonly AdmissionPlugin[] {
  const { cluster, random, clock, resources, authorizer } = context;
  const client = resources.use(new WebhookClient({ clock, resolve: (service) => resolveService(cluster, service) }));
  const webhooks = { cluster, random, resources, authorizer, client };
  return [
    createExpressionLoader(),
    createLimitRanger(context),
    nodeRestriction(context),
    createPodSecurity(context),
    priority(),
    createMutatingPolicies(context),
    mutatingWebhooks(webhooks),
    createValidatingPolicies(context),
    validatingWebhooks(webhooks),
    certificateRequests(context),
    roleEscalation(context),
    createResourceQuotaPlugin(context),
  ];
}

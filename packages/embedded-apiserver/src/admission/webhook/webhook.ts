import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { WebhookClientConfig } from "../../outbound/webhook-client-config.ts";
import type { MatchCondition, RuleWithOperations } from "../../kinds/plain/validate-matching.ts";

/** A webhook of a `MutatingWebhookConfiguration` or a `ValidatingWebhookConfiguration`, with its defaults. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly RuleWithOperations[];
  readonly failurePolicy: "Fail" | "Ignore";
  readonly matchPolicy: "Exact" | "Equivalent";
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  readonly sideEffects?: "None" | "NoneOnDryRun" | "Some" | "Unknown";
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions?: readonly string[];
  readonly matchConditions?: readonly MatchCondition[];
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
}

/** A webhook and the configuration it is part of. */
export interface ConfiguredWebhook {
  readonly webhook: Webhook;
  /** Unique among all webhooks. */
  readonly id: string;
  /** Name and resourceVersion of the configuration. */
  readonly configuration: { readonly name: string; readonly resourceVersion: string };
}

/** Webhooks in the order in which they are called: by the name of their configuration, then by their position. */
export function webhooksOf(configurations: readonly Readonly<ApiObject>[]): ConfiguredWebhook[] {
  const byName = configurations.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return byName.flatMap(({ metadata: { name, resourceVersion }, webhooks = [] }) => {
    const uses = new Map<string, number>();
    return (webhooks as readonly Webhook[]).map((webhook) => {
      const use = uses.get(webhook.name) ?? 0;
      uses.set(webhook.name, use + 1);
      return { webhook, id: `${name}/${webhook.name}/${use}`, configuration: { name, resourceVersion } };
    });
  });
}

const webhooks = "admission webhooks are not called";
const conversion = "definitions with conversion by webhook are refused";

/** Tests that pass on a real kube-apiserver and not on the embedded API server, by suite, with the reason. */
export const knownMisses: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  envtest: { "Test Webhook should reject create request for webhook that rejects all requests": webhooks },
  "manager/internal/integration": {
    "manger.Manager Start should start all components without deadlock controller warmup enabled": conversion,
    "manger.Manager Start should start all components without deadlock controller warmup not enabled": conversion,
  },
  webhook: {
    "Webhook when running a webhook server with a manager should reject create request for multi-webhook that rejects all requests":
      webhooks,
    "Webhook when running a webhook server with a manager should reject create request for webhook that rejects all requests": webhooks,
    "Webhook when running a webhook server without a manager should reject create request for webhook that rejects all requests": webhooks,
  },
};

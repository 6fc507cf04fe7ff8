import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import {
  allow,
  startWebhookServer,
  webhookConfiguration,
  type ReviewHandler,
  type WebhookServer,
} from "../../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import type { Answer, Api } from "./api.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";

/** Webhooks of one test, which are called only for its namespace. */
export class Webhooks implements AsyncDisposable {
  readonly server: WebhookServer;
  readonly #api: Api;
  readonly #namespace: string;
  readonly #paths: string[] = [];

  private constructor(api: Api, namespace: string, server: WebhookServer) {
    this.#api = api;
    this.#namespace = namespace;
    this.server = server;
  }

  /** Starts a server that also answers the probes of {@link Webhooks.configure}. */
  static async start(api: Api, namespace: string, answers: Readonly<Record<string, ReviewHandler>> = {}): Promise<Webhooks> {
    return new Webhooks(api, namespace, await startWebhookServer({ "/probe": allow(), ...answers }));
  }

  /**
   * Creates a configuration and waits until it is in effect.
   *
   * @param webhooks - each without `clientConfig`, which leads to `path`
   */
  async configure(type: "Mutating" | "Validating", name: string, webhook: object, path = "/"): Promise<void> {
    const kind = `${type}WebhookConfiguration` as const;
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": this.#namespace } };
    const fullName = `${name}-${this.#namespace}`;
    const configuration = webhookConfiguration(kind, fullName, {
      name: `${name}.example.com`,
      clientConfig: this.server.clientConfig(path),
      namespaceSelector,
      ...webhook,
    }) as { webhooks: object[] };
    // Configurations come into effect in the order of their creation.
    const probe = {
      name: "probe.example.com",
      clientConfig: this.server.clientConfig("/probe"),
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
      namespaceSelector,
      objectSelector: { matchLabels: { probe: fullName } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    };
    configuration.webhooks.unshift(probe);
    const url = `${registration}/${kind.toLowerCase()}s`;
    await this.#api.create(url, configuration);
    this.#paths.push(`${url}/${fullName}`);
    const before = this.reviews("/probe").length;
    await eventually(
      async () => {
        const probed = { metadata: { name: "probe", labels: { probe: fullName } } };
        await this.#api.post(`/api/v1/namespaces/${this.#namespace}/configmaps?dryRun=All`, probed);
        expect(this.reviews("/probe").length).toBeGreaterThan(before);
      },
      { timeoutMs: 30_000 },
    );
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- reviews of every kind
  reviews(path: string): any[] {
    return this.server.received[path] ?? [];
  }

  /** Requests of the reviews, without what differs between two runs. */
  requests(path = "/"): unknown[] {
    return this.reviews(path)
      .map(({ request }) => request)
      .filter(({ object }) => object?.metadata?.labels?.probe === undefined)
      .map(comparable);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const path of this.#paths) await this.#api.delete(path);
    await this.server[Symbol.asyncDispose]();
  }
}

/** Text of an answer's message with the port of the webhook replaced. */
export function messageOf(answer: Answer, { server }: Webhooks): string {
  return `${String(answer.status)} ${String(answer.body.message)}`.replaceAll(`:${String(server.port)}/`, ":PORT/");
}

const varying: ReadonlySet<string> = new Set(["uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp"]);

/** Removes users, which differ between the servers, and what differs between two runs. */
function comparable({ uid: _uid, userInfo: _user, ...request }: Readonly<Record<string, unknown>>): unknown {
  return JSON.parse(JSON.stringify(request, (key, value: unknown) => (varying.has(key) ? undefined : value))) as unknown;
}

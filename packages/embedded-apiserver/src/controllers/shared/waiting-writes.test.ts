import { expect, test, vi } from "vitest";
import { startTestServer, type TestServer } from "../../test-support/test-server.ts";
import { deny, patch, startWebhookServer, webhookConfiguration, type ReviewHandler } from "../../test-support/webhook-server.ts";

const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }];
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "main:1" }] } };

async function deploymentWith(server: TestServer, clientConfig: object, replicas: number): Promise<void> {
  const configuration = webhookConfiguration("MutatingWebhookConfiguration", "pods", { clientConfig, rules });
  await server.request("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configuration);
  await server.request("POST", "/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "web" },
    spec: { replicas, selector: { matchLabels: { app: "web" } }, template },
  });
}

const eventually = (assertion: () => Promise<void>): Promise<void> => vi.waitFor(assertion, { timeout: 20_000 });

/** Moves the server's time until the assertion holds. */
async function soon(server: TestServer, assertion: () => Promise<void>): Promise<void> {
  await eventually(async () => {
    await server.clock.advance(1000);
    await assertion();
  });
}

async function eventsOf(server: TestServer, reason: string): Promise<string[]> {
  const { body } = await server.request("GET", "/api/v1/namespaces/default/events");
  return body.items.filter((event: { reason: string }) => event.reason === reason).map((event: { message: string }) => event.message);
}

test("a mutating webhook injects a container into the pods of a Deployment, and each creation has its event", async () => {
  const sidecar: ReviewHandler = patch([{ op: "add", path: "/spec/containers/-", value: { name: "sidecar", image: "sidecar:1" } }]);
  await using hooks = await startWebhookServer({ "/": sidecar });
  await using server = await startTestServer({ controllers: true });
  await deploymentWith(server, hooks.clientConfig("/"), 3);
  await soon(server, async () => {
    const { body } = await server.request("GET", "/api/v1/namespaces/default/pods");
    expect(body.items).toHaveLength(3);
    expect(await eventsOf(server, "SuccessfulCreate")).toHaveLength(3);
  });
  const { body } = await server.request("GET", "/api/v1/namespaces/default/pods");
  for (const { spec } of body.items) expect(spec.containers.map(({ name }: { name: string }) => name)).toEqual(["main", "sidecar"]);
  expect(hooks.received["/"]).toHaveLength(3);
});

test("pods that a webhook denies are tried again with back-off, and the ReplicaSet says why", async () => {
  await using hooks = await startWebhookServer({ "/": deny({ message: "no pods" }) });
  await using server = await startTestServer({ controllers: true });
  await deploymentWith(server, hooks.clientConfig("/"), 1);
  const denied = 'admission webhook "pods.example.com" denied the request: no pods';
  await soon(server, async () => {
    expect(new Set(await eventsOf(server, "FailedCreate"))).toEqual(new Set([`Error creating: ${denied}`]));
    const { body } = await server.request("GET", "/apis/apps/v1/namespaces/default/replicasets");
    expect(body.items[0].status.conditions).toEqual([expect.objectContaining({ type: "ReplicaFailure", status: "True", message: denied })]);
    expect(hooks.received["/"]?.length).toBeGreaterThan(2);
  });
  await server.request("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/pods");
  await soon(server, async () => {
    const { body } = await server.request("GET", "/api/v1/namespaces/default/pods");
    expect(body.items).toHaveLength(1);
  });
});

test("a Deployment's event says why its ReplicaSet is refused, even if its status cannot be written", async () => {
  await using hooks = await startWebhookServer({ "/": deny({ message: "nothing" }) });
  await using server = await startTestServer({ controllers: true });
  const refused = [{ operations: ["*"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["replicasets", "deployments/status"] }];
  const configuration = webhookConfiguration("ValidatingWebhookConfiguration", "apps", {
    clientConfig: hooks.clientConfig("/"),
    rules: refused,
  });
  await server.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration);
  await server.request("POST", "/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "web" },
    spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
  });

  await soon(server, async () =>
    expect(await eventsOf(server, "ReplicaSetCreateError")).toEqual([
      expect.stringMatching(
        /^Failed to create new replica set "web-\w+": admission webhook "apps.example.com" denied the request: nothing$/,
      ),
    ]),
  );
});

test("with a webhook for every write, a Deployment's pods are created and a namespace is emptied", async () => {
  await using hooks = await startWebhookServer({
    "/": ({ apiVersion, request }) => ({ apiVersion, kind: "AdmissionReview", response: { uid: request.uid, allowed: true } }),
  });
  await using server = await startTestServer({ controllers: true });
  const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  const configuration = webhookConfiguration("ValidatingWebhookConfiguration", "all", {
    clientConfig: hooks.clientConfig("/"),
    rules: everything,
  });
  await server.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration);
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "team" } });
  await eventually(async () => expect((await server.request("GET", "/api/v1/namespaces/team/serviceaccounts/default")).status).toBe(200));
  await server.request("POST", "/apis/apps/v1/namespaces/team/deployments", {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
  });
  await soon(server, async () => {
    const { body } = await server.request("GET", "/apis/apps/v1/namespaces/team/deployments/web");
    expect(body.status).toMatchObject({ replicas: 2, observedGeneration: 1 });
  });
  await server.request("DELETE", "/api/v1/namespaces/team");
  await soon(server, async () => expect((await server.request("GET", "/api/v1/namespaces/team")).status).toBe(404));
});

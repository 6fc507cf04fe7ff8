import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { AdmissionregistrationV1Api, CoreV1Api, KubeConfig, type V1Pod } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { expect } from "vitest";

const now = Date.now();
const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
const authority = createCertificateAuthority("webhooks", validity);
const { certificate, key } = authority.issue({ commonName: "webhook", names: ["127.0.0.1"], usages: ["server auth"], validity });
const test = clusterTest();

test("pods without the label `team` are refused", async ({ cluster }) => {
  const answer = (review: { request: { uid: string; object: V1Pod } }): object => {
    const { uid, object } = review.request;
    const allowed = object.metadata?.labels?.["team"] !== undefined;
    const status = { message: "a pod needs the label team" };
    return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed, status } };
  };
  const webhook = createServer({ cert: certificate, key }, (request, response) => {
    void json(request).then((review) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer(review as Parameters<typeof answer>[0])));
    });
  });
  await once(webhook.listen(0, "127.0.0.1"), "listening");
  const { port } = webhook.address() as AddressInfo;

  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  await config.makeApiClient(AdmissionregistrationV1Api).createValidatingWebhookConfiguration({
    body: {
      metadata: { name: "teams" },
      webhooks: [
        {
          name: "teams.example.com",
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.certificate).toString("base64") },
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    },
  });
  const api = config.makeApiClient(CoreV1Api);
  const create = (labels: Record<string, string>): Promise<V1Pod> =>
    api.createNamespacedPod({
      namespace: "default",
      body: { metadata: { generateName: "web-", labels }, spec: { containers: [{ name: "web", image: "nginx" }] } },
    });

  await expect(create({})).rejects.toThrow("a pod needs the label team");
  await expect(create({ team: "a" })).resolves.toMatchObject({ metadata: { labels: { team: "a" } } });
  webhook.close();
});

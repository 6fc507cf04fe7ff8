import { planPod, type PodPlan } from "@virtual-kubelet/core";
import type { ConfigMap, Pod, Secret } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { provider } from "../provider.ts";
import { homePod, tokenMount, tokenVolume } from "../test-support/translation.ts";

interface Home {
  readonly pod: Pod;
  readonly config?: object;
  readonly configMaps?: readonly ConfigMap[];
  readonly secrets?: readonly Secret[];
}

function plan({ pod, config = {}, configMaps = [], secrets = [] }: Home): Promise<PodPlan> {
  return planPod(
    {
      pod,
      provider,
      providerConfig: config,
      objects: { configMaps, secrets },
      nodeName: "virtual",
      clusterId: "home",
      clusterDomain: "cluster.local",
    },
    new AbortController().signal,
  );
}

function linesOf({ requests }: PodPlan): readonly string[] {
  return requests.map(({ method, path, purpose }) => `${method} ${path}: ${purpose}`);
}

const withToken = homePod({
  serviceAccountName: "robot",
  volumes: [tokenVolume, { name: "conf", configMap: { name: "web" } }],
  containers: [{ name: "main", image: "nginx:1", volumeMounts: [tokenMount] }],
});

test("owner, copies and the pod's own secret come before the pod", async () => {
  const config = { namespaces: { mode: "prefix", prefix: "home-", create: true }, carry: { serviceAccountToken: "home" } };
  const configMaps = [{ metadata: { name: "web", namespace: "shop" }, data: { colour: "blue" } }];
  const planned = await plan({ pod: withToken, config, configMaps });

  expect(linesOf(planned)).toEqual([
    "POST /api/v1/namespaces: make the namespace",
    "POST /api/v1/namespaces/home-shop/configmaps: make the owner of all that the node has there",
    "POST /api/v1/namespaces/home-shop/configmaps: copy config map shop/kube-root-ca.crt",
    "POST /api/v1/namespaces/home-shop/configmaps: copy config map shop/web",
    "POST /api/v1/namespaces/home-shop/secrets: make the secret with the pod's own files",
    "POST /api/v1/namespaces/home-shop/pods: make the pod",
  ]);
  expect(planned.requests[3]?.body).toMatchObject({ data: { colour: "blue" } });
});

test("what is left out stands beside the pod's request", async () => {
  const planned = await plan({ pod: withToken });

  expect(planned.requests.at(-1)?.note).toBe(
    "spec.serviceAccountName: the token of robot is not mounted; carry.serviceAccountToken: home mounts it, far mounts one of the far cluster",
  );
});

test("values of secrets are in no request, and the pod refers to the copies by name", async () => {
  const data = { password: Buffer.from("hunter22").toString("base64") };
  const pod = homePod({ containers: [{ name: "main", image: "nginx:1", envFrom: [{ secretRef: { name: "db" } }] }] });
  const planned = await plan({ pod, secrets: [{ metadata: { name: "db", namespace: "shop" }, data }] });
  const [copy, last] = planned.requests.slice(-2).map(({ body }) => body as Pod & Secret);

  expect(JSON.stringify(planned)).not.toContain(data.password);
  expect(copy?.data).toEqual({ password: Buffer.from("[secret shop/db: password]").toString("base64") });
  expect(last?.spec?.containers[0]?.envFrom).toEqual([{ secretRef: { name: copy?.metadata?.name } }]);
});

test("a claim has a placeholder, because the home cluster is not asked", async () => {
  const pod = homePod({ volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] });
  const body = (await plan({ pod })).requests.at(-1)?.body;

  expect(body).toMatchObject({ spec: { volumes: [{ persistentVolumeClaim: { claimName: "{far claim of volume data}" } }] } });
});

test("the token of a service account in a secret is refused with its field", async () => {
  const pod = homePod({ volumes: [{ name: "token", secret: { secretName: "robot-token" } }] });
  const secrets = [{ metadata: { name: "robot-token" }, type: "kubernetes.io/service-account-token", data: { token: "" } }];

  expect(await plan({ pod, secrets })).toMatchObject({
    requests: [],
    refused: [
      {
        fieldPath: "spec.volumes[0].secret.secretName",
        message:
          "spec.volumes[0].secret.secretName: secret shop/robot-token is the token of a service account, which never leaves the home cluster; use a projected volume with a serviceAccountToken",
      },
    ],
  });
});

test("without a policy pods may ask for the level baseline, and with one for what it allows", async () => {
  const pod = homePod({ hostNetwork: true });

  expect((await plan({ pod })).refused).toMatchObject([{ fieldPath: "spec.hostNetwork" }]);
  expect((await plan({ pod, config: { policy: { hostNetwork: true } } })).refused).toEqual([]);
});

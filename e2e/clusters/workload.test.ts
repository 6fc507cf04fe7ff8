import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { forwardedPorts } from "../interop/support/forwarded-ports.ts";
import { copyThereAndBack, execOnTerminal } from "../interop/support/kubectl-steps.ts";
import { Cluster, podTimeout } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 180_000, intervalMs: 500 };
const ends = new AsyncDisposableStack();
const name = "workload";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
let node: VirtualNode;

const template = {
  metadata: { labels: { app: "web" }, annotations: { note: "carried" } },
  spec: {
    ...onNode(name),
    terminationGracePeriodSeconds: 1,
    serviceAccountName: "caller",
    containers: [
      {
        name: "web",
        image: "busybox:1.37",
        command: ["sh", "-c", "echo serving; httpd -f -p 8080 -h /pages & wait $!"],
        env: [
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "door", key: "password" } } },
          { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
          { name: "ADDRESS", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        resources: { requests: { cpu: "50m", memory: "16Mi" }, limits: { memory: "64Mi" } },
        readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
        volumeMounts: [
          { name: "pages", mountPath: "/pages" },
          { name: "door", mountPath: "/door" },
          { name: "about", mountPath: "/about" },
        ],
      },
    ],
    volumes: [
      { name: "pages", configMap: { name: "pages" } },
      { name: "door", secret: { secretName: "door", defaultMode: 0o400 } },
      {
        name: "about",
        projected: {
          sources: [
            { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
            { serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 600 } },
          ],
        },
      },
    ],
  },
};

async function pods(): Promise<readonly DeepReadonly<Pod>[]> {
  const found = await home.list<Pod>("get pods -l app=web");
  return found.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

async function firstPod(): Promise<DeepReadonly<Pod>> {
  const [pod] = await pods();
  if (pod === undefined) throw new Error("there is no pod");
  return pod;
}

async function firstName(): Promise<string> {
  return (await firstPod()).metadata?.name ?? "";
}

/** The far pod of a home pod. */
async function farPodOf(pod: DeepReadonly<Pod>): Promise<DeepReadonly<Pod>> {
  const found = await far.list<Pod>(`get pods -l virtual-kubelet.io/pod-uid=${pod.metadata?.uid ?? ""}`);
  expect(found).toHaveLength(1);
  return found[0] ?? {};
}

beforeAll(async () => {
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  node = ends.use(
    await VirtualNode.start(name, {
      home: home.access,
      farKubeconfig: far.access.kubeconfig.path,
      providerConfig: { namespaces: { mode: "same" }, scheduling: { nodeSelector: { "kubernetes.io/hostname": "far-docker" } } },
    }),
  );
  await home.apply(
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "caller" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "pages" }, data: { "index.html": "a page\n" } },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "door" }, stringData: { password: "open sesame" } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
    },
  );
});

beforeEach(() => diagnoseFailure({ home, far, log: () => node.log }));
afterAll(() => ends.disposeAsync());

// Each test continues from the state of the previous one.

test("a Deployment runs in the far cluster", async () => {
  await home.say(`rollout status deployment/web ${podTimeout}`);

  const found = await pods();
  expect(found.map(({ spec }) => spec?.nodeName)).toEqual([name, name]);
  for (const pod of found) {
    const { metadata, spec } = await farPodOf(pod);
    expect(spec?.nodeName).toBe("far-docker");
    expect(metadata).toMatchObject({ labels: { app: "web" }, annotations: { note: "carried" } });
    expect(metadata?.ownerReferences).toMatchObject([{ kind: "ConfigMap", controller: true }]);
  }
});

test("a home pod's status is the far pod's, field by field", async () => {
  for (const pod of await pods()) {
    await eventually(async () => {
      const { status: farStatus } = await farPodOf(pod);
      const { status } = await home.json<Pod>(`get pod ${pod.metadata?.name ?? ""}`);
      expect(status?.phase).toBe("Running");
      expect(status?.podIPs).toEqual(farStatus?.podIPs);
      expect(status?.hostIP).toBe(inject("nodeAddress"));
      expect(Date.parse(status?.startTime ?? "")).toBeLessThanOrEqual(Date.parse(farStatus?.startTime ?? ""));
      expect(status?.qosClass).toBe(farStatus?.qosClass);
      expect(status?.containerStatuses).toEqual(farStatus?.containerStatuses);
      for (const type of ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"]) {
        const at = (of: DeepReadonly<Pod>["status"]): object | undefined => of?.conditions?.find((condition) => condition.type === type);
        expect(at(status), type).toMatchObject({ status: "True" });
        expect({ ...at(status), observedGeneration: 0 }).toEqual({ ...at(farStatus), observedGeneration: 0 });
      }
    }, patience);
  }
});

test("the container sees the home pod's name, node, labels, config map and secret", async () => {
  const pod = await firstPod();
  const read = (script: string): Promise<string> => home.say(["exec", pod.metadata?.name ?? "", "--", "sh", "-c", script]);

  expect(await read("echo $POD $NODE $PASSWORD $ADDRESS")).toBe(`${pod.metadata?.name} ${name} open sesame ${pod.status?.podIP}\n`);
  expect(await read("cat /door/password; stat -Lc %a /door/password")).toBe("open sesame400\n");
  expect(await read("cat /about/labels")).toContain('app="web"');
  expect(await read("hostname")).toBe(`${pod.metadata?.name}\n`);
  expect(await read("ls /var/run/secrets 2>&1; true")).toContain("No such file");
});

test("a token for another audience is a file, and the home API server knows it", async () => {
  const token = await home.say(`exec ${await firstName()} -- cat /about/token`);

  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences: ["vault"] } };
  const answer = JSON.parse(await home.say("create -f - -o json", JSON.stringify(review))) as { readonly status: object };
  expect(answer.status).toMatchObject({
    authenticated: true,
    audiences: ["vault"],
    user: { username: `system:serviceaccount:${name}:caller` },
  });
});

test("kubectl logs and exec", async () => {
  const pod = await firstName();

  expect(await home.say(`logs ${pod}`)).toMatch(/^serving\n/);
  const following = home.kubectl.start("logs", pod, "-f", "--tail=0");
  await eventually(async () => {
    await home.say(["exec", pod, "--", "sh", "-c", "echo told >/proc/1/fd/1"]);
    expect(following.output.stdout).toContain("told\n");
  }, patience);
  following.child.kill("SIGINT");
  await following.ended;
  expect(await home.run(["exec", "-i", pod, "--", "sh", "-c", "cat; exit 5"], "to the end")).toMatchObject({
    stdout: "to the end",
    code: 5,
  });
});

test("kubectl exec on a terminal", async () => {
  await execOnTerminal(home.kubectl, await firstName(), patience);
});

test("kubectl cp into a container and back", async () => {
  await copyThereAndBack(home.kubectl, await firstName(), "web");
});

test("kubectl port-forward", async () => {
  const { child, output, ended } = home.kubectl.start("port-forward", await firstName(), ":8080");
  const port = (await forwardedPorts(output, 1)).get(8080) ?? 0;

  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });

  expect(await answer.text()).toBe("a page\n");
  child.kill("SIGINT");
  await ended;
});

test("events of the far pod are events of the home pod", async () => {
  const pod = await firstName();

  await eventually(async () => {
    const reasons = await home.say(`get events --field-selector involvedObject.name=${pod} -o jsonpath={.items[*].reason}`);
    for (const reason of ["Scheduled", "Pulled", "Created", "Started"]) expect(reasons.split(" ")).toContain(reason);
  }, patience);
});

test("running pods see a changed config map and a changed label", async () => {
  const pod = await firstPod();
  await home.patch("configmap pages", { data: { "index.html": "another page\n" } });
  await home.say(`label pod ${pod.metadata?.name} tier=front`);

  await eventually(async () => {
    expect(await (await fetch(`http://${pod.status?.podIP}:8080/`)).text()).toBe("another page\n");
    expect(await home.say(`exec ${pod.metadata?.name} -- cat /about/labels`)).toContain('tier="front"');
    expect((await farPodOf(pod)).metadata?.labels).toMatchObject({ tier: "front" });
  }, patience);
});

test("kubectl debug adds a container", async () => {
  const pod = await firstName();
  await home.kubectl.run([
    "debug",
    pod,
    "--image=busybox:1.37",
    "--target=web",
    "--container=look",
    "--",
    "sh",
    "-c",
    "echo seen; sleep 3600",
  ]);

  await eventually(async () => expect(await home.say(`logs ${pod} -c look`)).toBe("seen\n"), patience);
  // The log is the far container's; its status arrives separately.
  await eventually(async () => {
    const { status } = await home.json<Pod>(`get pod ${pod}`);
    expect(status?.ephemeralContainerStatuses).toMatchObject([{ name: "look", state: { running: {} } }]);
  }, patience);
});

test("a resize reaches the far container, and its resources come back", async () => {
  const pod = await firstPod();
  const containers = [{ name: "web", resources: { limits: { memory: "80Mi" } } }];
  await home.kubectl.run([
    "patch",
    "pod",
    pod.metadata?.name ?? "",
    "--subresource=resize",
    "-p",
    JSON.stringify({ spec: { containers } }),
  ]);

  await eventually(async () => {
    const { status } = await home.json<Pod>(`get pod ${pod.metadata?.name}`);
    expect(status?.containerStatuses).toMatchObject([{ restartCount: 0, resources: { limits: { memory: "80Mi" } } }]);
    expect((await farPodOf(pod)).spec?.containers).toMatchObject([{ resources: { limits: { memory: "80Mi" } } }]);
  }, patience);
});

test("a container that ends is restarted, its restarts are counted, and the previous log is there", async () => {
  const pod = await firstName();
  await home.run(`exec ${pod} -- killall httpd`);

  await eventually(async () => {
    const { status } = await home.json<Pod>(`get pod ${pod}`);
    expect(status?.containerStatuses).toMatchObject([{ restartCount: 1, ready: true, lastState: { terminated: {} } }]);
  }, patience);
  expect(await home.say(`logs ${pod} --previous`)).toMatch(/^serving\n/);
});

test("kubectl rollout restart replaces the pods, scale changes their number, and no far pod is left", async () => {
  const before = await pods();
  await home.say("rollout restart deployment/web");
  await home.say(`rollout status deployment/web ${podTimeout}`);
  await home.say("scale deployment/web --replicas=3");
  await home.say(`rollout status deployment/web ${podTimeout}`);

  await eventually(async () => {
    const uids = (await pods()).map(({ metadata }) => metadata?.uid);
    expect(uids).toHaveLength(3);
    const farPods = await far.list<Pod>("get pods -l app=web");
    expect(farPods.map(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"]).toSorted()).toEqual(uids.toSorted());
    expect(uids.filter((uid) => before.some(({ metadata }) => metadata?.uid === uid))).toEqual([]);
  }, patience);
});

test("when the last pod is gone, so are the secrets of single pods", async () => {
  await home.say(`delete deployment web --cascade=foreground ${podTimeout}`);

  await eventually(async () => expect(await far.list("get pods,secrets -l virtual-kubelet.io/pod-uid")).toEqual([]), patience);
});

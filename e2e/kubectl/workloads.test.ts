import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KubectlRig } from "./support/kubectl-rig.ts";
import { findKubectls, type Kubectl } from "../support/kubectl.ts";

const kubectls = await findKubectls();

function template(image: string, metadata: object, spec: object = {}): object {
  return { metadata, spec: { containers: [{ name: "main", image }], ...spec } };
}

function daemonSet(image: string): string {
  const labels = { app: "web" };
  const spec = { selector: { matchLabels: labels }, template: template(image, { labels }) };
  return JSON.stringify({ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "agent" }, spec });
}

function statefulSet(image: string): string {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const spec = {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: { metadata: { labels: { app: "db" } }, spec: { containers: [{ name: "main", image, volumeMounts }] } },
    volumeClaimTemplates: [
      { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    ],
  };
  return JSON.stringify({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" }, spec });
}

const storageClass = JSON.stringify({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: "embedded.virtual-kubelet.io/host-path",
  volumeBindingMode: "WaitForFirstConsumer",
});

/** Lines of a printed table as lists of cells, beginning with the header. */
function table(printed: string): string[][] {
  return printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/ {2,}/));
}

/** An age as kubectl prints it. */
const seconds = /^(?:\d+m)?\d+[ms]$/;

// The kubectls run concurrently, each with its own server; the tests of each kubectl run in order.
describe.each(kubectls)("kubectl $version", { concurrent: true }, ({ program }) => {
  describe("runs workloads on the embedded server", { concurrent: false }, () => {
    scenario(program);
  });
});

/** Tests that build on one another. */
function scenario(program: string): void {
  let rig: KubectlRig;
  let kubectl: Kubectl;

  beforeAll(async () => {
    rig = await KubectlRig.open(program, ["vk-1", "vk-2"]);
    ({ kubectl } = rig);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  const ends = { "mock.virtual-kubelet.io/exit-after": "0s" };

  test("create job runs a Job, and wait returns when it is complete", async () => {
    expect(await kubectl.print("create job once --image=busybox")).toBe("job.batch/once created\n");
    expect(await kubectl.print("wait --for=condition=complete job/once --timeout=90s")).toBe("job.batch/once condition met\n");
    expect(table(await kubectl.print("get jobs"))[1]?.slice(0, 2)).toEqual(["once", "Complete"]);
    await kubectl.print("delete job once");
    await kubectl.print("wait --for=delete pod -l job-name=once --timeout=90s");

    const job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "sum" },
      spec: { completions: 2, template: template("busybox", { annotations: ends }, { restartPolicy: "Never" }) },
    };
    await kubectl.print("create -f -", JSON.stringify(job));
    expect(await kubectl.print("wait --for=condition=complete job/sum --timeout=90s")).toBe("job.batch/sum condition met\n");
    const [header, row] = table(await kubectl.print("get job sum -o wide"));
    expect(header).toEqual(["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]);
    expect(row?.slice(0, 3)).toEqual(["sum", "Complete", "2/2"]);
    expect(await kubectl.print("describe job sum")).toMatch(/Pods Statuses: +0 Active \(0 Ready\) \/ 2 Succeeded \/ 0 Failed\n/);
  });

  test("create cronjob makes a CronJob, from which a Job can be created", async () => {
    expect(await kubectl.print("create cronjob nightly --image=busybox --schedule=@yearly")).toBe("cronjob.batch/nightly created\n");
    expect(table(await kubectl.print("get cronjobs"))[1]?.slice(0, 6)).toEqual(["nightly", "@yearly", "<none>", "False", "0", "<none>"]);
    expect(await kubectl.print("create job by-hand --from=cronjob/nightly")).toBe("job.batch/by-hand created\n");
    expect(await kubectl.print("delete cronjob nightly")).toContain('cronjob.batch "nightly" deleted');
    await kubectl.print("wait --for=delete job/by-hand --timeout=90s");
  });

  test("a DaemonSet has a pod on each node, and supports rollout status, history, undo and restart", async () => {
    const rolledOut = async (): Promise<void> =>
      expect(await kubectl.print("rollout status daemonset/agent --timeout=90s")).toContain('daemon set "agent" successfully rolled out');
    expect(await kubectl.print("apply -f -", daemonSet("agent:1"))).toBe("daemonset.apps/agent created\n");
    await rolledOut();
    expect(table(await kubectl.print("get daemonsets"))).toEqual([
      ["NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"],
      ["agent", "2", "2", "2", "2", "2", "<none>", expect.stringMatching(seconds)],
    ]);
    await kubectl.print("set image daemonset/agent main=agent:2");
    await rolledOut();
    expect(await kubectl.print("rollout history daemonset/agent")).toMatch(/REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>\n/);
    await kubectl.print("rollout undo daemonset/agent");
    await rolledOut();
    await eventually(async () =>
      expect(await kubectl.print("get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}")).toBe("agent:1 agent:1"),
    );
    await kubectl.print("rollout restart daemonset/agent");
    await rolledOut();
  });

  test("a StatefulSet's pods have stable names and volumes, and it supports rollout, scale, undo and restart", async () => {
    const rolledOut = async (): Promise<void> =>
      expect(await kubectl.print("rollout status statefulset/db --timeout=90s")).toMatch(/rolling update complete|roll out complete/);
    await kubectl.print("create -f -", storageClass);
    expect(await kubectl.print("apply -f -", statefulSet("db:1"))).toBe("statefulset.apps/db created\n");
    await rolledOut();
    expect(await kubectl.print("get pods -l app=db -o name")).toBe("pod/db-0\npod/db-1\n");
    expect(table(await kubectl.print("get statefulset db -o wide"))).toEqual([
      ["NAME", "READY", "AGE", "CONTAINERS", "IMAGES"],
      ["db", "2/2", expect.stringMatching(seconds), "main", "db:1"],
    ]);
    expect(table(await kubectl.print("get pvc"))[1]?.slice(0, 6)).toEqual([
      "data-db-0",
      "Bound",
      expect.stringMatching(/^pvc-/),
      "1Gi",
      "RWO",
      "standard",
    ]);
    expect(table(await kubectl.print("get pv"))[1]?.slice(1, 6)).toEqual([
      "1Gi",
      "RWO",
      "Delete",
      "Bound",
      expect.stringMatching(/^default\/data-db-[01]$/),
    ]);
    expect(table(await kubectl.print("get storageclass"))[1]?.slice(0, 4)).toEqual([
      "standard (default)",
      "embedded.virtual-kubelet.io/host-path",
      "Delete",
      "WaitForFirstConsumer",
    ]);

    await kubectl.print("set image statefulset/db main=db:2");
    await rolledOut();
    await kubectl.print("rollout undo statefulset/db");
    await rolledOut();
    expect(await kubectl.print("get pods -l app=db -o jsonpath={.items[*].spec.containers[0].image}")).toBe("db:1 db:1");
    await kubectl.print("rollout restart statefulset/db");
    await rolledOut();
    expect(await kubectl.print("rollout history statefulset/db")).toContain("REVISION");
    expect(await kubectl.print("scale statefulset/db --replicas=1")).toBe("statefulset.apps/db scaled\n");
    await kubectl.print("wait --for=delete pod/db-1 --timeout=90s");
    expect(await kubectl.print("get pvc -o name")).toBe("persistentvolumeclaim/data-db-0\npersistentvolumeclaim/data-db-1\n");
  });

  test("drain ignores DaemonSets and waits for a disruption budget", async () => {
    await kubectl.print("create deployment front --image=nginx --replicas=2");
    await kubectl.print("rollout status deployment/front --timeout=90s");
    await kubectl.print("create poddisruptionbudget front --selector=app=front --min-available=2");
    await eventually(async () => expect(table(await kubectl.print("get pdb front"))[1]?.slice(0, 4)).toEqual(["front", "2", "N/A", "0"]));
    await eventually(async () => expect(await kubectl.print("get pdb front -o jsonpath={.status.currentHealthy}")).toBe("2"));

    const refused = await kubectl.try("drain vk-1 --timeout=90s");
    expect(refused.stderr).toMatch(/cannot delete .*DaemonSet-managed Pods \(use --ignore-daemonsets to ignore\): default\/agent-/);
    const node = await kubectl.print("get pods -l app=front -o jsonpath={.items[0].spec.nodeName}");
    const held = await kubectl.try(`drain ${node} --ignore-daemonsets --delete-emptydir-data --timeout=8s`);
    expect(held.stderr).toContain("Cannot evict pod as it would violate the pod's disruption budget.");

    await kubectl.print("delete pdb front");
    expect(await kubectl.print(`drain ${node} --ignore-daemonsets --delete-emptydir-data --timeout=90s`)).toContain(`node/${node} drained`);
    const left = await kubectl.print(
      `get pods --field-selector=spec.nodeName=${node} -o jsonpath={.items[*].metadata.ownerReferences[0].kind}`,
    );
    expect(left).toBe("DaemonSet");
    await kubectl.print("uncordon vk-1 vk-2");
  });
}

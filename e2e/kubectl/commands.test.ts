import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KubectlRig } from "./support/kubectl-rig.ts";
import { findKubectls, type Kubectl } from "../support/kubectl.ts";

const kubectls = await findKubectls();
console.log(`kubectl: ${kubectls.map(({ version }) => version).join(", ")}`);

function deployment(name: string, image: string, replicas: number = 2): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image, ports: [{ containerPort: 80 }] }] } },
    },
  });
}

function pod(name: string, spec: object = {}): string {
  const containers = [{ name: "main", image: "busybox" }];
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers, ...spec } });
}

/** Lines of a printed table as lists of cells, beginning with the header. */
function table(printed: string): string[][] {
  return printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/ {2,}/));
}

/** Header of a printed table as one string. */
function header(printed: string): string {
  return table(printed)[0]?.join("|") ?? "";
}

/** An age as kubectl prints it. */
const seconds = /^(?:\d+m)?\d+[ms]$/;

// The kubectls run concurrently, each with its own server; the tests of each kubectl run in order.
describe.each(kubectls)("kubectl $version", { concurrent: true }, ({ program }) => {
  describe("on the embedded server", { concurrent: false }, () => {
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

  async function rolledOut(name: string): Promise<void> {
    expect(await kubectl.print(`rollout status deployment/${name} --timeout=90s`)).toContain(
      `deployment "${name}" successfully rolled out`,
    );
  }

  test("apply creates an object, changes nothing the second time, and rolls out a change", async () => {
    expect(await kubectl.print("apply -f -", deployment("web", "nginx:1.26"))).toBe("deployment.apps/web created\n");
    await rolledOut("web");
    expect(await kubectl.print("apply -f -", deployment("web", "nginx:1.26"))).toBe("deployment.apps/web unchanged\n");
    expect(await kubectl.print("apply -f -", deployment("web", "nginx:1.27"))).toBe("deployment.apps/web configured\n");
    await rolledOut("web");

    // The previous pods may still be ending.
    await eventually(async () =>
      expect(await kubectl.print("get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}")).toBe("nginx:1.27 nginx:1.27"),
    );
    expect(await kubectl.print("rollout history deployment/web")).toMatch(/REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>\n/);
  });

  test("get prints a Deployment, its ReplicaSets and its pods, as tables, names, JSON and YAML", async () => {
    const [, web] = table(await kubectl.print("get deployments"));
    expect(web).toEqual(["web", "2/2", "2", "2", expect.stringMatching(seconds)]);
    expect(header(await kubectl.print("get deployments -o wide"))).toBe("NAME|READY|UP-TO-DATE|AVAILABLE|AGE|CONTAINERS|IMAGES|SELECTOR");
    expect(header(await kubectl.print("get replicasets -o wide"))).toBe("NAME|DESIRED|CURRENT|READY|AGE|CONTAINERS|IMAGES|SELECTOR");

    const [, first] = table(await kubectl.print("get pods -l app=web"));
    expect(first).toEqual([expect.stringMatching(/^web-[a-z0-9]+-[a-z0-9]{5}$/), "1/1", "Running", "0", expect.stringMatching(seconds)]);
    const wide = await kubectl.print("get pods -l app=web -o wide");
    expect(header(wide)).toBe("NAME|READY|STATUS|RESTARTS|AGE|IP|NODE|NOMINATED NODE|READINESS GATES");
    expect(table(wide)[1]?.slice(5)).toEqual([expect.stringMatching(/^[\d.]+$/), expect.stringMatching(/^vk-[12]$/), "<none>", "<none>"]);

    expect(await kubectl.print("get deployment/web -o name")).toBe("deployment.apps/web\n");
    expect(JSON.parse(await kubectl.print("get deployment web -o json"))).toMatchObject({ kind: "Deployment", spec: { replicas: 2 } });
    expect(await kubectl.print("get deployment web -o yaml")).toContain("\n  progressDeadlineSeconds: 600\n  replicas: 2\n");
    const columns = await kubectl.print("get pods -l app=web -o custom-columns=PHASE:.status.phase,QOS:.status.qosClass --no-headers");
    expect(table(columns)).toEqual([
      ["Running", "BestEffort"],
      ["Running", "BestEffort"],
    ]);
    expect(await kubectl.print("get all")).toMatch(
      /^pod\/web-[^]*\nservice\/kubernetes [^]*\ndeployment.apps\/web [^]*\nreplicaset.apps\/web-/m,
    );
    expect((await kubectl.try("get pods --field-selector=status.phase=Failed")).stderr).toBe("No resources found in default namespace.\n");
  });

  test("get prints objects of other kinds", async () => {
    expect(header(await kubectl.print("get nodes -o wide"))).toBe(
      "NAME|STATUS|ROLES|AGE|VERSION|INTERNAL-IP|EXTERNAL-IP|OS-IMAGE|KERNEL-VERSION|CONTAINER-RUNTIME",
    );
    expect(table(await kubectl.print("get nodes"))[1]).toEqual([
      "vk-1",
      "Ready",
      expect.any(String),
      expect.stringMatching(seconds),
      expect.stringMatching(/^v1\.\d+/),
    ]);
    expect(table(await kubectl.print("get services"))[1]?.slice(0, 5)).toEqual([
      "kubernetes",
      "ClusterIP",
      "10.96.0.1",
      "<none>",
      "443/TCP",
    ]);
    expect(table(await kubectl.print("get leases -n kube-node-lease"))[1]?.slice(0, 2)).toEqual(["vk-1", "vk-1"]);
    const namespaces = table(await kubectl.print("get ns")).map(([name, status]) => `${name} ${status}`);
    expect(namespaces.slice(1)).toEqual(["default Active", "kube-node-lease Active", "kube-public Active", "kube-system Active"]);
  });

  test("get -w prints changes as they happen", async () => {
    await kubectl.print("create -f -", pod("watched", { nodeSelector: { disk: "ssd" } }));
    const watch = kubectl.start("get pod watched --watch");
    await eventually(() => expect(watch.output.stdout).toMatch(/ Pending /));
    await kubectl.print("label node vk-1 disk=ssd");
    await eventually(() => expect(watch.output.stdout).toMatch(/ Running /));
    await kubectl.print("delete pod watched");
    await eventually(() => expect(watch.output.stdout).toMatch(/ Terminating /));
    watch.child.kill();
    await watch.result;

    const rows = table(watch.output.stdout).map(([name, ready, status]) => `${name} ${ready} ${status}`);
    expect(rows.slice(0, 2)).toEqual(["NAME READY STATUS", "watched 0/1 Pending"]);
    expect(rows).toEqual(expect.arrayContaining(["watched 1/1 Running", "watched 1/1 Terminating"]));
  });

  test("describe shows a pod, a Deployment and a node with their events", async () => {
    await kubectl.print("create -f -", pod("told"));
    await kubectl.print("wait --for=condition=Ready pod/told --timeout=90s");

    await eventually(async () => {
      const text = await kubectl.print("describe pod told");
      expect(text).toMatch(/^Name: +told\nNamespace: +default\nPriority: +0\nService Account: +default\nNode: +vk-[12]\//);
      expect(text).toMatch(/\nStatus: +Running\n/);
      expect(text).toMatch(/\n {4}Restart Count: +0\n/);
      expect(text).toMatch(/\n {6}\/var\/run\/secrets\/kubernetes.io\/serviceaccount from kube-api-access-[a-z0-9]{5} \(ro\)\n/);
      expect(text).toMatch(/\nQoS Class: +BestEffort\n/);
      expect(text).toMatch(/\nTolerations: +node.kubernetes.io\/not-ready:NoExecute op=Exists for 300s\n/);
      expect(text).toMatch(/\n {2}Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default\/told to vk-[12]\n/);
    });

    const web = await kubectl.print("describe deployment web");
    expect(web).toMatch(/\nReplicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable\n/);
    expect(web).toMatch(/\nRollingUpdateStrategy: +25% max unavailable, 25% max surge\n/);
    expect(web).toMatch(/\n {2}Available +True +MinimumReplicasAvailable\n {2}Progressing +True +NewReplicaSetAvailable\n/);
    expect(web).toMatch(/\n {2}Normal +ScalingReplicaSet +\S+ +deployment-controller +Scaled up replica set web-\S+ from 0 to 2\n/);

    const node = await kubectl.print("describe node vk-1");
    expect(node).toMatch(/\nLease:\n {2}HolderIdentity: +vk-1\n/);
    expect(node).toMatch(/\n {2}Ready +True +/);
    expect(node).toMatch(/\nNon-terminated Pods: +\(\d+ in total\)\n/);
    expect(node).toMatch(/\n {2}Normal +RegisteredNode +\S+ +node-controller +Node vk-1 event: Registered Node vk-1 in Controller\n/);
  });

  test("events are listed for all objects and for one", async () => {
    expect(header(await kubectl.print("get events"))).toBe("LAST SEEN|TYPE|REASON|OBJECT|MESSAGE");
    const events = table(await kubectl.print("events --for pod/told")).map(([, type, reason, object]) => `${type} ${reason} ${object}`);
    expect(events).toContain("Normal Scheduled Pod/told");
  });

  test("label and annotate add and remove metadata", async () => {
    expect(await kubectl.print("label pod told tier=front")).toBe("pod/told labeled\n");
    expect(await kubectl.print("annotate pod told note=hello")).toMatch(/^pod\/told annotated?\n$/);
    expect(await kubectl.print("get pods -l tier=front -o jsonpath={.items[0].metadata.annotations.note}")).toBe("hello");
    expect(await kubectl.print("label pod told tier-")).toBe("pod/told unlabeled\n");
    expect(await kubectl.print("get pods -l tier=front -o name")).toBe("");
  });

  test("scale, set image, rollout undo and restart change a Deployment", async () => {
    expect(await kubectl.print("scale deployment/web --replicas=3")).toBe("deployment.apps/web scaled\n");
    expect(await kubectl.print("wait --for=condition=Available deployment/web --timeout=90s")).toBe("deployment.apps/web condition met\n");
    await rolledOut("web");
    expect(table(await kubectl.print("get pods -l app=web")).length).toBe(1 + 3);

    await kubectl.print("set image deployment/web main=nginx:1.28");
    await rolledOut("web");
    await kubectl.print("rollout undo deployment/web");
    await rolledOut("web");
    expect(await kubectl.print("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}")).toBe("nginx:1.27");
    const before = await kubectl.print("get pods -l app=web -o name");
    await kubectl.print("rollout restart deployment/web");
    await rolledOut("web");
    expect(await kubectl.print("get pods -l app=web -o name")).not.toBe(before);

    expect(await kubectl.print("scale deployment/web --replicas=0")).toBe("deployment.apps/web scaled\n");
    await kubectl.print("wait --for=delete pod -l app=web --timeout=90s");
    await eventually(async () =>
      expect(table(await kubectl.print("get deployment web"))[1]?.slice(0, 4)).toEqual(["web", "0/0", "0", "0"]),
    );
  });

  test("create makes objects with typed subcommands", async () => {
    await kubectl.print("create namespace typed");
    for (const [words, printed] of [
      ["configmap settings --from-literal=a=b", "configmap/settings created\n"],
      ["secret generic keys --from-literal=a=b", "secret/keys created\n"],
      ["serviceaccount robot", "serviceaccount/robot created\n"],
      ["service clusterip web --tcp=80:8080", "service/web created\n"],
      ["deployment web --image=nginx --replicas=1", "deployment.apps/web created\n"],
    ] as const)
      expect(await kubectl.print(`create ${words} -n typed`)).toBe(printed);
    expect(await kubectl.print("create token robot -n typed")).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n?$/);

    expect(await kubectl.print("get configmap settings -n typed -o jsonpath={.data}")).toBe('{"a":"b"}');
    expect(await kubectl.print("get secret keys -n typed -o jsonpath={.type}{.data.a}")).toBe("OpaqueYg==");
    expect(table(await kubectl.print("get service web -n typed -o wide"))[1]?.slice(1)).toEqual([
      "ClusterIP",
      expect.stringMatching(/^10\./),
      "<none>",
      "80/TCP",
      expect.stringMatching(seconds),
      "app=web",
    ]);
    expect(await kubectl.print("rollout status deployment/web -n typed --timeout=90s")).toContain("successfully rolled out");
    expect(await kubectl.print("delete namespace typed --timeout=90s")).toContain('namespace "typed" deleted');
    expect((await kubectl.try("get namespace typed")).stderr).toBe('Error from server (NotFound): namespaces "typed" not found\n');
  });

  test("run starts a pod, which stays Pending while all nodes are cordoned", async () => {
    await kubectl.print("cordon vk-1 vk-2");
    expect(
      table(await kubectl.print("get nodes"))
        .slice(1)
        .map(([, status]) => status),
    ).toEqual(["Ready,SchedulingDisabled", "Ready,SchedulingDisabled"]);
    expect(await kubectl.print("run late --image=busybox --restart=Never")).toBe("pod/late created\n");
    await eventually(async () =>
      expect(await kubectl.print("describe pod late")).toContain("0/2 nodes are available: 2 node(s) were unschedulable."),
    );
    expect(table(await kubectl.print("get pod late"))[1]?.slice(0, 3)).toEqual(["late", "0/1", "Pending"]);

    expect(await kubectl.print("uncordon vk-2")).toBe("node/vk-2 uncordoned\n");
    await kubectl.print("wait --for=condition=Ready pod/late --timeout=90s");
    expect(await kubectl.print("get pod late -o jsonpath={.spec.nodeName}")).toBe("vk-2");
    await kubectl.print("uncordon vk-1");
  });

  test("drain evicts a node's pods", async () => {
    expect((await kubectl.print("drain vk-2 --force --ignore-daemonsets --delete-emptydir-data --timeout=90s")).trimEnd()).toMatch(
      /pod\/late evicted[^]*node\/vk-2 drained$/,
    );
    expect(await kubectl.print("get pods --field-selector=spec.nodeName=vk-2 -o name")).toBe("");
    await kubectl.print("uncordon vk-2");
  });

  test("an invalid object is refused with the messages of a real API server", async () => {
    const invalid = await kubectl.try("create -f -", pod("Bad_Name", { containers: [{ name: "a" }], restartPolicy: "Maybe" }));
    expect(invalid.code).toBe(1);
    expect(invalid.stderr).toBe(
      'The Pod "Bad_Name" is invalid: \n' +
        "* metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n" +
        "* spec.containers[0].image: Required value\n" +
        '* spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"\n',
    );

    const unknown = await kubectl.try("apply -f -", pod("unknown", { containers: [{ name: "a", image: "b", imagee: "c" }] }));
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain('strict decoding error: unknown field "spec.containers[0].imagee"');

    const immutable = await kubectl.try('patch deployment web --type=merge -p {"spec":{"selector":{"matchLabels":{"app":"other"}}}}');
    expect(immutable.stderr).toContain('* spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable');
    expect((await kubectl.try("delete namespace default")).stderr).toBe(
      'Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted\n',
    );
  });

  test("explain shows fields, and diff shows the changes that apply would make", async () => {
    expect(await kubectl.print("explain pod.spec.containers.image")).toMatch(/FIELD: +image <string>\n/);
    const changed = await kubectl.try("diff -f -", deployment("web", "nginx:9", 0));
    expect(changed.stdout).toMatch(/\n- +- image: nginx:1.27\n\+ +- image: nginx:9\n/);
  });

  test("delete removes a Deployment with or without its dependents", async () => {
    await kubectl.print("scale deployment/web --replicas=1");
    await rolledOut("web");
    const [orphan = ""] = (await kubectl.print("get pods -l app=web -o name")).split("\n");
    await kubectl.print("delete deployment web --cascade=orphan");
    const [set = ""] = (await kubectl.print("get replicasets -l app=web -o name")).split("\n");
    expect(set).toMatch(/^replicaset.apps\/web-/);
    expect(await kubectl.print("get pods -l app=web -o name")).toBe(`${orphan}\n`);

    await kubectl.print("delete replicasets -l app=web --cascade=foreground --timeout=90s");
    await eventually(async () => expect(await kubectl.print("get pods,replicasets -l app=web -o name")).toBe(""));
    expect(await kubectl.print("delete pod told --now")).toContain('pod "told" deleted');
  });
}

import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { podTimeout } from "../../clusters/support/cluster.ts";
import { door, type Cloud } from "./cloud.ts";
import { CloudRig } from "./cloud-rig.ts";
import { instancesOf } from "./engine-instances.ts";

const patience = { timeoutMs: 120_000, intervalMs: 200 };

/**
 * Tests of a provider from end to end: the program as a user starts it, on a real kube-apiserver, with kubectl, and the provider's cloud as a
 * fake that runs the containers on a Docker engine. The program's pods are the one of the provider's README, and that one with other commands.
 */
export function describeCloud(provider: string, open: (dockerHost: string) => Promise<Cloud>): void {
  describe(`the provider ${provider}, with containers that really run`, () => {
    let rig: CloudRig;

    beforeAll(async () => {
      rig = await CloudRig.open(provider, open);
    });
    beforeEach(() => {
      onTestFailed(async () => {
        const { stdout } = await rig.home.run("describe pods");
        console.error(stdout, rig.node.log.trimEnd().split("\n").slice(-60).join("\n"));
      });
    });
    afterAll(() => rig?.[Symbol.asyncDispose]());

    // Each test continues from the state of the previous one.
    testContainers(() => rig);
    testRestarts(() => rig);
  });
}

/** What a container is given, writes and returns. */
function testContainers(rigOf: () => CloudRig): void {
  test("the pod of the README runs", async () => {
    const rig = rigOf();
    const { metadata, spec } = rig.pod;
    await rig.home.apply({ ...rig.pod, spec: { ...spec, ...rig.place } });
    await rig.untilReady(metadata?.name ?? "");

    const [object, ...others] = await rig.objectsOf(metadata?.name ?? "");
    expect(others).toEqual([]);
    const { status } = await rig.podOf(metadata?.name ?? "");
    expect(status?.phase).toBe("Running");
    if (rig.cloud.hasAddresses) expect(status?.podIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    else expect(status?.podIP).toBeUndefined();
    expect((await instancesOf(rig.engine, object?.group ?? "")).every(({ isRunning }) => isRunning)).toBe(true);
    await eventually(async () => expect(await rig.home.say(`logs ${metadata?.name}`)).toBe("serving\n"), patience);
  });

  test("the command, the environment and the keys of a Secret are the container's", async () => {
    const rig = rigOf();
    const env = [
      { name: "GREETING", value: "hello to $(NAME) = 'all' \"who\" ask" },
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ...Object.keys(door).map((key) => ({ name: key.toUpperCase(), valueFrom: { secretKeyRef: { name: "door", key } } })),
    ];
    await rig.start("variables", {
      script: 'echo "$GREETING"; echo "$POD"; echo "$PASSWORD $TOKEN"; exec sleep 3600',
      env: [{ name: "NAME", value: "them" }, ...env],
      annotations: rig.cloud.secretAnnotations,
    });
    await rig.untilReady("variables");

    const expected = `hello to them = 'all' "who" ask\nvariables\n${door.password} ${door.token}\n`;
    await eventually(async () => expect(await rig.home.say("logs variables")).toBe(expected), patience);
  });

  test("logs -f shows what the container writes meanwhile, each line once, until it ends", async () => {
    const rig = rigOf();
    await rig.start("writer", {
      script: "echo first; until test -e /tmp/go; do sleep 0.1; done; for i in 1 2 3; do echo line $i; done; echo last; sleep 4",
      spec: { restartPolicy: "Never" },
    });
    await rig.untilReady("writer");
    const following = rig.home.kubectl.start("logs", "-f", "writer");
    await eventually(() => expect(following.output.stdout).toBe("first\n"), patience);
    await rig.home.say("exec writer -- touch /tmp/go");

    expect(await following.ended).toMatchObject({ code: 0, stdout: "first\nline 1\nline 2\nline 3\nlast\n" });
    expect(await rig.home.say("logs --tail=2 writer")).toBe("line 3\nlast\n");
  });

  test("exec returns the output and the exit code, and passes input", async () => {
    const rig = rigOf();
    expect(await rig.home.run("exec variables -- true")).toMatchObject({ code: 0 });
    expect(await rig.home.run(["exec", "variables", "--", "sh", "-c", "echo $POD; exit 3"])).toMatchObject({
      code: 3,
      stdout: "variables\n",
    });
    expect(await rig.home.run("exec -i variables -- cat", "one\ntwo\n")).toMatchObject({ code: 0, stdout: "one\ntwo\n" });
  });

  test("a pod whose container exits with 7 is Failed, with that exit code", async () => {
    const rig = rigOf();
    await rig.start("seven", { script: "echo counting; exit 7", spec: { restartPolicy: "Never" } });
    await rig.home.say(`wait pod/seven --for=jsonpath={.status.phase}=Failed ${podTimeout}`);

    const { status } = await rig.podOf("seven");
    expect(status?.containerStatuses).toMatchObject([{ restartCount: 0, state: { terminated: { exitCode: 7, reason: "Error" } } }]);
    await eventually(async () => expect(await rig.home.say("logs seven")).toBe("counting\n"), patience);
  });

  test("delete lets the container end within its grace period, and kills it afterwards", async () => {
    const rig = rigOf();
    await rig.start("polite", {
      script: "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done",
      spec: { terminationGracePeriodSeconds: 60 },
    });
    await rig.start("stubborn", {
      script: "trap '' TERM; echo up; while :; do sleep 0.1; done",
      spec: { terminationGracePeriodSeconds: 2 },
    });
    await Promise.all(["polite", "stubborn"].map((each) => rig.untilReady(each)));
    await eventually(async () => expect(await rig.home.say("logs polite")).toBe("up\n"), patience);
    await eventually(async () => expect(await rig.home.say("logs stubborn")).toBe("up\n"), patience);
    const [polite] = await rig.objectsOf("polite");
    const [stubborn] = await rig.objectsOf("stubborn");
    const uids = await Promise.all(["polite", "stubborn"].map((each) => rig.uidOf(each)));
    await rig.home.say(`delete pod polite stubborn ${podTimeout}`);

    expect(await polite?.runs[0]?.ended).toMatchObject({ kind: "exited", exitCode: 5 });
    expect(await stubborn?.runs[0]?.ended).toMatchObject({ kind: "exited", exitCode: 137 });
    for (const uid of uids) await eventually(() => expect(rig.liveObjectsOf(uid)).toEqual([]), patience);
    for (const { group = "" } of [polite, stubborn].filter((object) => object !== undefined))
      await eventually(async () => expect(await instancesOf(rig.engine, group)).toEqual([]), patience);
  });
}

/** Pods of a program that is killed. */
function testRestarts(rigOf: () => CloudRig): void {
  test("a program that is killed and started again has the same instances, and creates no second ones", async () => {
    const rig = rigOf();
    const pods = [rig.pod.metadata?.name ?? "", "variables"];
    const before = await Promise.all(pods.map((each) => rig.seen(each)));
    const doomed = await rig.start("doomed", { script: "exec sleep 3600", spec: { terminationGracePeriodSeconds: 1 } });
    await rig.untilReady("doomed");
    const creates = rig.cloud.countCreates();
    await rig.killProgram();
    await rig.home.say("delete pod doomed --wait=false");
    rig.node.startProgram();
    await rig.home.say(`wait pod/doomed --for=delete ${podTimeout}`);
    await eventually(() => expect(rig.liveObjectsOf(doomed)).toEqual([]), patience);
    // The program has looked at all pods once it has run another one.
    await rig.start("afterwards", { script: "exec sleep 3600" });
    await rig.untilReady("afterwards");

    expect(await Promise.all(pods.map((each) => rig.seen(each)))).toEqual(before);
    expect(rig.cloud.countCreates()).toBe(creates + 1);
    expect(await rig.home.run("exec variables -- true")).toMatchObject({ code: 0 });
  });

  test("a program that is killed before it knows that an object was created has no second one afterwards", async () => {
    const rig = rigOf();
    rig.cloud.leaveNextCreateUnanswered();
    const uid = await rig.start("unanswered", { script: "echo once; exec sleep 3600" });
    await eventually(() => expect(rig.cloud.objectsOf(uid)).toHaveLength(1), patience);
    const [before] = rig.cloud.objectsOf(uid);
    await rig.killProgram();
    rig.node.startProgram();
    await rig.untilReady("unanswered");

    expect(rig.cloud.objectsOf(uid)).toMatchObject([{ group: before?.group, isLive: true }]);
    expect(rig.cloud.objectsOf(uid)[0]?.runs).toHaveLength(1);
    expect(await rig.seen("unanswered")).toMatchObject({ restartCount: 0 });
  });

  test("objects of others are as they were, and no secret is in the program's log", async () => {
    const rig = rigOf();
    expect(rig.foreign.describe()).toEqual(rig.foreignBefore);

    expect(rig.log).toContain("variables");
    for (const value of [...Object.values(door), ...rig.cloud.credentials])
      for (const text of [value, Buffer.from(value).toString("base64")]) expect(rig.log.includes(text)).toBe(false);
  });
}

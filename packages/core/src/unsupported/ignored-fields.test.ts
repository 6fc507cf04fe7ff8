import { isInvalidInput, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { ignorableFields, IgnoredFields, ignoreProblem } from "./ignored-fields.ts";

const probe = { httpGet: { port: 80 } };
const pod: Pod = {
  metadata: { name: "web" },
  spec: {
    hostPID: true,
    initContainers: [{ name: "init", securityContext: { runAsNonRoot: true } }],
    containers: [
      { name: "app", livenessProbe: probe, readinessProbe: probe, ports: [{ containerPort: 80, hostPort: 80 }, { containerPort: 81 }] },
      { name: "side", livenessProbe: probe, securityContext: { runAsNonRoot: true, runAsUser: 5 } },
    ],
  },
};

describe("fields that are named are left out", () => {
  test.each([
    ["of every container", "spec.containers[*].livenessProbe", ["spec.containers[0].livenessProbe", "spec.containers[1].livenessProbe"]],
    ["in a list of a container", "spec.containers[*].ports[*].hostPort", ["spec.containers[0].ports[0].hostPort"]],
    [
      "in a field that is unsupported as a whole",
      "spec.initContainers[*].securityContext.runAsNonRoot",
      ["spec.initContainers[0].securityContext.runAsNonRoot"],
    ],
    ["of the pod", "spec.hostPID", ["spec.hostPID"]],
    ["and not where nothing is set", "spec.hostIPC", []],
    ["and not where they are supported", "spec.containers[*].readinessProbe", []],
  ])("%s: %s", (_where, path, left) => {
    const unsupported = [
      "spec.containers[0].livenessProbe",
      "spec.containers[1].livenessProbe",
      "spec.containers[0].ports[0].hostPort",
      "spec.hostPID",
      "spec.hostIPC",
      "spec.initContainers[0].securityContext",
    ];

    expect(new IgnoredFields([path]).omit(pod, unsupported).paths).toEqual(left);
  });

  test("and all else of the pod stays, without a change of the pod itself", () => {
    const before = structuredClone(pod);

    const { pod: rest } = new IgnoredFields(["spec.containers[*].ports[*].hostPort", "spec.containers[*].securityContext.runAsUser"]).omit(
      pod,
      ["spec.containers[0].ports[0].hostPort", "spec.containers[1].securityContext"],
    );

    const expected = structuredClone(pod);
    for (const port of expected.spec?.containers[0]?.ports ?? []) delete port.hostPort;
    delete expected.spec?.containers[1]?.securityContext?.runAsUser;
    expect(rest).toEqual(expected);
    expect(pod).toEqual(before);
  });

  test("where a part of the field is unsupported, too, but not where another field begins like it", () => {
    const ignored = new IgnoredFields(["spec.containers[*].livenessProbe"]);

    expect(ignored.omit(pod, ["spec.containers[0].livenessProbe.grpc"]).paths).toEqual(["spec.containers[0].livenessProbe"]);
    expect(ignored.omit(pod, ["spec.containers[0].livenessProbes"]).paths).toEqual([]);
  });

  test("nothing is copied where nothing is left out", () => {
    expect(new IgnoredFields(["spec.hostIPC"]).omit(pod, ["spec.hostPID"]).pod).toEqual(pod);
    expect(new IgnoredFields().omit(pod, ["spec.hostPID"]).pod).toBe(pod);
  });
});

describe("a path to be ignored", () => {
  test.each([
    ["spec.containers[*].livenesProbe", "expected a field that a pod may be run without, such as spec.containers[*].livenessProbe"],
    ["spec.containers[*].image", "expected a field that a pod may be run without, such as spec.containers[*].livenessProbe"],
    ["spec.containers[0].livenessProbe", "expected a field that a pod may be run without, such as spec.containers[*].livenessProbe"],
    ["spec.securityContext", "expected its fields one by one, such as spec.securityContext.appArmorProfile"],
    [
      "spec.containers[*].securityContext",
      "expected its fields one by one, such as spec.containers[*].securityContext.allowPrivilegeEscalation",
    ],
  ])("that is none is refused: %s", (path, problem) => {
    const make = (): IgnoredFields => new IgnoredFields(["spec.hostPID", path]);

    expect(ignoreProblem(path)).toBe(problem);
    expect(make).toThrow(`onUnsupported.ignore: "${path}": ${problem}`);
    expect(make).toThrow(expect.toSatisfy(isInvalidInput));
  });

  test.each(ignorableFields)("may be %s", (path) => {
    expect(ignoreProblem(path)).toBeUndefined();
  });
});

describe("a call that finds a field unsupported itself", () => {
  const first = { pod, paths: ["spec.hostIPC"] };
  const refuse = (fieldPath?: string): never => {
    throw new UnsupportedError("not here", { fieldPath });
  };

  test("is made again without it, field by field, where they are to be ignored", async () => {
    const ignored = new IgnoredFields(["spec.hostPID", "spec.containers[*].livenessProbe"]);

    const left = await ignored.tell(first, async ({ pod: given, paths }) => {
      if (given.spec?.hostPID) refuse("spec.hostPID");
      if (given.spec?.containers[1]?.livenessProbe) refuse("spec.containers[1].livenessProbe");
      return paths;
    });

    expect(left).toEqual(["spec.hostIPC", "spec.hostPID", "spec.containers[1].livenessProbe"]);
  });

  test.each([
    ["another field", () => refuse("spec.hostIPC")],
    ["no field", () => refuse()],
    ["the same field again", () => refuse("spec.hostPID")],
    [
      "something else",
      () => {
        throw new UnavailableError("the back end is away");
      },
    ],
  ])("fails where it is about %s", async (_what, fail) => {
    const call = new IgnoredFields(["spec.hostPID"]).tell(first, async () => fail());

    await expect(call).rejects.toThrow(/not here|away/);
  });
});

test("a security field that the provider supports is kept where another one is left out", () => {
  const securityContext = { privileged: true, runAsUser: 0 };
  const asked: Pod = { spec: { restartPolicy: "Never", containers: [{ name: "app", securityContext }] } };
  const ignored = new IgnoredFields(["spec.containers[*].securityContext.privileged", "spec.containers[*].securityContext.runAsUser"]);

  const { pod: given, paths } = ignored.omitAll({ pod: asked, paths: [] }, { capabilities: { privileged: true } });

  expect(given.spec?.containers[0]?.securityContext).toEqual({ privileged: true });
  expect(paths).toEqual(["spec.containers[0].securityContext.runAsUser"]);
});

import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { resources } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { PayloadRig } from "../test-support/payload-rig.ts";

const two = { containers: ["one", "two"].map((name) => ({ name, image: "busybox" })) };
const message = "provider payload does not support spec.containers[1]: more than one container in a pod";

describe("a pod that needs more than the provider can do", () => {
  test("waits, told by its containers and one event", async () => {
    await using rig = await new PayloadRig().start();

    await rig.createPod("web", two);
    await rig.settle(600_000);

    expect(rig.pod("web")?.status?.phase).toBe("Pending");
    expect(rig.state("web")).toBe(`ProviderUnsupported ${message}`);
    expect(await rig.events()).toEqual([`ProviderUnsupported: ${message}`]);
    expect(rig.given).toEqual([]);
  });

  test("is Failed where the node is to fail such pods", async () => {
    await using rig = await new PayloadRig({ pods: { onUnsupported: "fail" } }).start();

    await rig.createPod("web", two);
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderUnsupported", message });
    expect(await rig.events()).toEqual([`ProviderUnsupported: ${message}`]);
    expect(rig.given).toEqual([]);
  });

  test("is Failed there, too, when the provider says so itself, and is not asked for again", async () => {
    const rig = new PayloadRig({ pods: { onUnsupported: "fail" } });
    rig.onCreate = () => {
      throw new UnsupportedError("spec.hostNetwork: no host network here", { fieldPath: "spec.hostNetwork" });
    };
    await using _node = await rig.start();

    await rig.createPod("web");
    await rig.settle(600_000);

    expect(rig.pod("web")?.status).toMatchObject({
      phase: "Failed",
      reason: "ProviderUnsupported",
      message: "spec.hostNetwork: no host network here",
    });
    expect(rig.given).toHaveLength(1);
  });
});

describe("a change of a pod that runs", () => {
  test.each([
    [
      { restarts: true },
      ["ProviderUpdateFailed: provider payload does not support spec.containers[0].resources: changes of a running pod's resources"],
    ],
    [{ restarts: true, resize: true }, ["ProviderUpdateSuccess: Update pod in provider successfully"]],
  ])("of its resources is told to have failed, unless the provider can do it: %o", async (capabilities, told) => {
    await using rig = await new PayloadRig({ capabilities }).start();
    await rig.createPod("web");
    const before = await rig.events();

    rig.client.edit(
      resources.pods,
      "web",
      (pod) => {
        for (const container of pod.spec?.containers ?? []) container.resources = { limits: { cpu: "2" } };
      },
      "shop",
    );
    await rig.settle(600_000);

    expect((await rig.events()).filter((event) => !before.includes(event))).toEqual(told);
    expect(rig.state("web")).toBe("running");
  });
});

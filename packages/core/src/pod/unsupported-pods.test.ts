import { UnsupportedError } from "@virtual-kubelet/errdefs";
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

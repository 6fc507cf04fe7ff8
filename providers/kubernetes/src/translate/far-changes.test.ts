import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";
import { isUnsupported } from "@virtual-kubelet/errdefs";
import { resources, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { copyName } from "../identity/names.ts";
import { contextOf, homePod } from "../test-support/translation.ts";
import { farChangesOf, type FarPodPatch } from "./far-changes.ts";
import { farPodOf } from "./far-pod.ts";

const context = contextOf();

/** The far pod as its API server has it. */
function running(home: Pod): Pod {
  const { pod } = farPodOf(home, { claims: new Map() }, context);
  return { ...pod, metadata: { ...pod.metadata, uid: "far-uid" } };
}

function patchesOf(home: Pod, far: Pod): readonly FarPodPatch[] {
  return farChangesOf(home, far, {}, context).patches;
}

/** The far pod after the patches. */
function patched(home: Pod, far: Pod): Pod {
  return patchesOf(home, far).reduce((pod, { patch }) => applyPatch(pod, patch, resources.pods), far);
}

/** The far pod, changed by somebody in the far cluster. */
function edited(far: Pod, { metadata, spec }: { readonly metadata?: Pod["metadata"]; readonly spec?: Partial<PodSpec> }): Pod {
  return {
    ...far,
    metadata: { ...far.metadata, ...metadata },
    spec: { ...far.spec, containers: far.spec?.containers ?? [], ...spec },
  };
}

const home = homePod(
  {
    containers: [
      { name: "main", image: "nginx:1", resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } },
      { name: "side", image: "agent:1" },
    ],
    tolerations: [{ key: "spot", operator: "Exists" }],
  },
  { labels: { app: "web", tier: "front" }, annotations: { team: "a" } },
);

test("a far pod that is up to date gets no patch", () => {
  expect(patchesOf(home, running(home))).toEqual([]);
});

test("every patch names the far pod's UID, so that it never meets another pod", () => {
  const changed: Pod = {
    ...home,
    spec: {
      ...home.spec,
      containers: [{ name: "main", image: "nginx:2", resources: { requests: { cpu: "2" } } }],
      ephemeralContainers: [{ name: "debug", image: "busybox" }],
    },
  };
  const patches = patchesOf(changed, running(home));

  expect(patches.map(({ subresource }) => subresource)).toEqual([undefined, "ephemeralcontainers", "resize"]);
  for (const { patch } of patches) expect(patch.body).toMatchObject({ metadata: { uid: "far-uid" } });
});

describe("labels and annotations", () => {
  const changed = homePod(home.spec, { labels: { app: "web2", extra: "x" }, annotations: {} });

  test("are set and removed; those of others stay", () => {
    const far = running(home);
    const foreign = edited(far, {
      metadata: {
        ...far.metadata,
        labels: { ...far.metadata?.labels, theirs: "1" },
        annotations: { ...far.metadata?.annotations, theirs: "2" },
      },
    });
    const { labels = {}, annotations = {} } = patched(changed, foreign).metadata ?? {};

    expect(labels).toMatchObject({ app: "web2", extra: "x", theirs: "1" });
    expect(labels).not.toHaveProperty("tier");
    expect(annotations).toMatchObject({ theirs: "2" });
    expect(annotations).not.toHaveProperty("team");
  });

  test("are not patched again", () => {
    expect(patchesOf(changed, patched(changed, running(home)))).toEqual([]);
  });

  test("that somebody has removed in the far cluster come back", () => {
    const far = running(home);
    const { app: _app, ...labels } = far.metadata?.labels ?? {};

    expect(patched(home, edited(far, { metadata: { ...far.metadata, labels } })).metadata?.labels).toMatchObject({ app: "web" });
  });

  test("are not removed if the record of ours is damaged", () => {
    const far = running(home);
    const broken = edited(far, {
      metadata: { ...far.metadata, annotations: { ...far.metadata?.annotations, "virtual-kubelet.io/carried": "{" } },
    });

    expect(patched(changed, broken).metadata?.labels).toMatchObject({ app: "web2", tier: "front" });
  });
});

describe("images", () => {
  const changed = homePod(
    {
      ...home.spec,
      containers: [
        { name: "main", image: "nginx:2" },
        { name: "side", image: "agent:1" },
      ],
    },
    home.metadata,
  );

  test("reach their containers", () => {
    expect(patched(changed, running(home)).spec?.containers.map(({ image }) => image)).toEqual(["nginx:2", "agent:1"]);
  });

  test("that the far cluster has replaced stay until home has another", () => {
    const far = running(home);
    const mirrored = edited(far, {
      spec: {
        containers: (far.spec?.containers ?? []).map((container) => ({ ...container, image: `mirror.example.com/${container.image}` })),
      },
    });

    expect(patchesOf(home, mirrored)).toEqual([]);
    expect(patched(changed, mirrored).spec?.containers.map(({ image }) => image)).toEqual(["nginx:2", "mirror.example.com/agent:1"]);
    expect(patchesOf(changed, patched(changed, mirrored))).toEqual([]);
  });

  test("of init containers, too", () => {
    const withInit = (image: string): Pod => homePod({ initContainers: [{ name: "init", image }] });

    expect(patched(withInit("b"), running(withInit("a"))).spec?.initContainers).toMatchObject([{ name: "init", image: "b" }]);
  });
});

describe("tolerations", () => {
  test("that are new are added to those that the far pod has", () => {
    const far = running(home);
    const foreign = edited(far, { spec: { tolerations: [...(far.spec?.tolerations ?? []), { key: "far", operator: "Exists" }] } });
    const changed = homePod(
      {
        ...home.spec,
        tolerations: [
          { key: "spot", operator: "Exists" },
          { key: "gpu", operator: "Exists" },
        ],
      },
      home.metadata,
    );

    expect(patched(changed, foreign).spec?.tolerations?.map(({ key }) => key)).toEqual(["spot", "far", "gpu"]);
    expect(patchesOf(changed, patched(changed, foreign))).toEqual([]);
  });

  test("for the virtual node are none of the far pod's", () => {
    const changed = homePod(
      { ...home.spec, tolerations: [...(home.spec?.tolerations ?? []), { key: "virtual-kubelet.io/provider", operator: "Exists" }] },
      home.metadata,
    );

    expect(patchesOf(changed, running(home))).toEqual([]);
  });
});

describe("the active deadline", () => {
  test.each([
    [undefined, 60, 60],
    [100, 60, 60],
    [60, 100, 60],
    [60, 60, 60],
    [60, undefined, 60],
  ])("of %s seconds in the far pod and of %s at home becomes %s", (actual, wanted, expected) => {
    const far = running(homePod({ activeDeadlineSeconds: actual }));

    expect(patched(homePod({ activeDeadlineSeconds: wanted }), far).spec?.activeDeadlineSeconds).toBe(expected);
  });
});

describe("ephemeral containers", () => {
  const withDebug = homePod(
    {
      ...home.spec,
      ephemeralContainers: [{ name: "debug", image: "busybox", targetContainerName: "main", envFrom: [{ secretRef: { name: "keys" } }] }],
      volumes: [{ name: "conf", configMap: { name: "conf" } }],
    },
    home.metadata,
  );

  test("are added once, with all that the pod needs then", () => {
    const { patches, carried } = farChangesOf(withDebug, running(home), {}, context);
    const name = copyName(context.owner, "Secret", { namespace: "shop", name: "keys" });

    expect(patches).toEqual([
      {
        subresource: "ephemeralcontainers",
        patch: {
          type: "strategic",
          body: {
            metadata: { uid: "far-uid" },
            spec: {
              ephemeralContainers: [{ name: "debug", image: "busybox", targetContainerName: "main", envFrom: [{ secretRef: { name } }] }],
            },
          },
        },
      },
    ]);
    expect(carried?.references.map((reference) => reference.name).sort()).toEqual(["conf", "keys"]);
    expect(farChangesOf(withDebug, patched(withDebug, running(home)), {}, context)).toEqual({ patches: [], carried: undefined });
  });

  test("that refer to an excluded secret are refused", () => {
    const far = running(home);

    expect(() => farChangesOf(withDebug, far, {}, contextOf({ carry: { secrets: [] } }))).toThrow(expect.toSatisfy(isUnsupported));
  });
});

describe("resources", () => {
  const withCpu = (requests: string, limits: string): Pod =>
    homePod(
      {
        ...home.spec,
        containers: [
          { name: "main", image: "nginx:1", resources: { requests: { cpu: requests }, limits: { cpu: limits } } },
          { name: "side", image: "agent:1" },
        ],
      },
      home.metadata,
    );

  test("that changed are a resize of their container", () => {
    expect(patchesOf(withCpu("1500m", "2"), running(home))).toEqual([
      {
        subresource: "resize",
        patch: {
          type: "strategic",
          body: {
            metadata: { uid: "far-uid" },
            spec: { containers: [{ name: "main", resources: { requests: { cpu: "1500m" }, limits: { cpu: "2" } } }] },
          },
        },
      },
    ]);
  });

  test("that are written in another way are the same", () => {
    expect(patchesOf(withCpu("1000m", "2000m"), running(home))).toEqual([]);
  });

  test("that only the far cluster has are its defaults", () => {
    const far = running(home);
    const defaulted = edited(far, {
      spec: {
        containers: (far.spec?.containers ?? []).map((container) => ({
          ...container,
          resources: { requests: { memory: "64Mi", ...container.resources?.requests }, limits: { ...container.resources?.limits } },
        })),
      },
    });

    expect(patchesOf(home, defaulted)).toEqual([]);
  });

  test("of the pod as a whole, too", () => {
    const [resize] = patchesOf(homePod({ resources: { limits: { cpu: "2" } } }), running(homePod({ resources: { limits: { cpu: "1" } } })));

    expect(resize).toMatchObject({ subresource: "resize", patch: { body: { spec: { resources: { limits: { cpu: "2" } } } } } });
  });
});

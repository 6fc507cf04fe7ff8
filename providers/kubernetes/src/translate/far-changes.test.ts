import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";
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

/** The patches, in the order in which they are sent. @param record - as last sent, if the far pod has lost it */
function patchesOf(home: Pod, far: Pod, record?: string): readonly FarPodPatch[] {
  const { resize, ephemeralContainers, main } = farChangesOf({ home, far, record }, {}, context);
  return [resize, ephemeralContainers, main(true)].filter((patch) => patch !== undefined);
}

/** The far pod after the patches. */
function patched(home: Pod, far: Pod, record?: string): Pod {
  return patchesOf(home, far, record).reduce((pod, { patch }) => applyPatch(pod, patch, resources.pods), far);
}

/** The far pod's record. */
function recordIn(far: Pod): string | undefined {
  return far.metadata?.annotations?.["virtual-kubelet.io/carried"];
}

/** The far pod without its record, as an admission leaves it that removes what it does not know. */
function stripped(far: Pod): Pod {
  const { "virtual-kubelet.io/carried": _record, ...annotations } = far.metadata?.annotations ?? {};
  return edited(far, { metadata: { ...far.metadata, annotations } });
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

  expect(patches.map(({ subresource }) => subresource)).toEqual(["resize", "ephemeralcontainers", undefined]);
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

  test("that the far cluster has removed or changed stay so until home changes them", () => {
    const far = running(home);
    const { app: _app, ...labels } = far.metadata?.labels ?? {};
    const edits = edited(far, { metadata: { ...far.metadata, labels: { ...labels, tier: "theirs" } } });

    expect(patchesOf(home, edits)).toEqual([]);
    expect(patched(homePod(home.spec, { ...home.metadata, labels: { app: "web2", tier: "front" } }), edits).metadata?.labels).toMatchObject(
      {
        app: "web2",
        tier: "theirs",
      },
    );
    // It is theirs now, also when home has none any more.
    expect(patched(homePod(home.spec, { ...home.metadata, labels: {} }), edits).metadata?.labels).toMatchObject({ tier: "theirs" });
  });

  test("are not removed if the record of ours is damaged", () => {
    const far = running(home);
    const broken = edited(far, {
      metadata: { ...far.metadata, annotations: { ...far.metadata?.annotations, "virtual-kubelet.io/carried": "{" } },
    });

    expect(patched(changed, broken).metadata?.labels).toMatchObject({ app: "web2", tier: "front" });
  });
});

describe("a far pod that has lost its record", () => {
  const far = running(home);
  const mirrored = stripped(
    edited(far, {
      spec: {
        containers: (far.spec?.containers ?? []).map((container) => ({
          ...container,
          image: `mirror.example.com/${container.image}`,
          resources: { requests: { cpu: "4" } },
        })),
      },
    }),
  );

  test("gets no patch if nothing has changed at home since what was last sent", () => {
    expect(patchesOf(home, mirrored, recordIn(far))).toEqual([]);
  });

  test("gets what has changed at home since then, and nothing else", () => {
    const changed = homePod(home.spec, { labels: { app: "web" }, annotations: { team: "a" } });

    const [patch, ...others] = patchesOf(changed, mirrored, recordIn(far));
    expect(patch?.patch.body).toEqual({
      metadata: { uid: "far-uid", labels: { tier: null }, annotations: { "virtual-kubelet.io/carried": recordIn(running(changed)) } },
    });
    expect(others).toEqual([]);
  });

  test("gets whatever differs if nobody knows what was sent, but only once", () => {
    const [resize, main] = patchesOf(home, mirrored);

    expect(resize?.patch.body).toMatchObject({ spec: { containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] } });
    expect(main?.patch.body).toMatchObject({ spec: { containers: [{ image: "nginx:1" }, { image: "agent:1" }] } });
    expect(patchesOf(home, mirrored, recordIn(patched(home, mirrored)))).toEqual([]);
  });

  test("and a record of ours in its place that is damaged is the same", () => {
    const damaged = edited(mirrored, {
      metadata: { ...mirrored.metadata, annotations: { ...mirrored.metadata?.annotations, "virtual-kubelet.io/carried": "[" } },
    });

    expect(patchesOf(home, damaged, recordIn(far))).toEqual([]);
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
  test("that the far cluster has removed are not added again", () => {
    expect(patchesOf(home, edited(running(home), { spec: { tolerations: [] } }))).toEqual([]);
  });

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
  test("that the far cluster has removed is not set again", () => {
    const limited = homePod({ activeDeadlineSeconds: 60 });

    expect(patchesOf(limited, edited(running(limited), { spec: { activeDeadlineSeconds: undefined } }))).toEqual([]);
  });

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
    const changes = farChangesOf({ home: withDebug, far: running(home) }, {}, context);
    const name = copyName(context.owner, "Secret", { namespace: "shop", name: "keys" });

    expect(changes).toMatchObject({ resize: undefined, refused: [] });
    expect(changes.main(true)).toBeUndefined();
    expect(changes.ephemeralContainers).toEqual({
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
    });
    expect(changes.carried?.references.map((reference) => reference.name).sort()).toEqual(["conf", "keys"]);
    const after = farChangesOf({ home: withDebug, far: patched(withDebug, running(home)) }, {}, context);
    expect(after).toMatchObject({ ephemeralContainers: undefined, carried: undefined });
  });

  test("that refer to an excluded secret are left out, with all that only they need; the others are added", () => {
    const debug = { name: "plain", image: "busybox", envFrom: [{ configMapRef: { name: "env" } }] };
    const both: Pod = {
      ...withDebug,
      spec: { ...withDebug.spec, containers: [], ephemeralContainers: [...(withDebug.spec?.ephemeralContainers ?? []), debug] },
    };
    const { ephemeralContainers, carried, refused } = farChangesOf(
      { home: both, far: running(home) },
      {},
      contextOf({ carry: { secrets: [] } }),
    );

    expect(ephemeralContainers?.patch.body).toMatchObject({ spec: { ephemeralContainers: [{ name: "plain" }] } });
    expect(carried?.references.map((reference) => reference.name).sort()).toEqual(["conf", "env"]);
    expect(refused).toMatchObject([
      {
        name: "debug",
        fieldPath: "spec.ephemeralContainers[0].envFrom[0].secretRef.name",
        message: expect.stringContaining("shop/keys stays"),
      },
    ]);
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
    expect(patchesOf(withCpu("1500m", "2"), running(home))[0]).toEqual({
      subresource: "resize",
      patch: {
        type: "strategic",
        body: {
          metadata: { uid: "far-uid" },
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "1500m" }, limits: { cpu: "2" } } }] },
        },
      },
    });
  });

  test("that the far cluster has changed stay so until home changes them", () => {
    const far = running(home);
    const scaled = edited(far, {
      spec: {
        containers: (far.spec?.containers ?? []).map((container) => ({
          ...container,
          ...(container.name === "main" && { resources: { requests: { cpu: "3" }, limits: { cpu: "4" } } }),
        })),
      },
    });

    expect(patchesOf(home, scaled)).toEqual([]);
    const [resize] = patchesOf(withCpu("2", "2"), scaled);
    expect(resize?.patch.body).toMatchObject({ spec: { containers: [{ name: "main", resources: { requests: { cpu: "2" } } }] } });
  });

  test("that were not sent are not recorded as sent", () => {
    const far = running(home);
    const larger = homePod(withCpu("2", "2").spec, { ...home.metadata, labels: { app: "web2" } });
    const main = farChangesOf({ home: larger, far }, {}, context).main(false);
    const after = main ? applyPatch(far, main.patch, resources.pods) : far;

    expect(after.metadata?.labels).toMatchObject({ app: "web2" });
    expect(patchesOf(larger, after)).toMatchObject([{ subresource: "resize" }, { patch: { body: { metadata: {} } } }]);
  });

  test("that are written in another way are the same", () => {
    expect(farChangesOf({ home: withCpu("1000m", "2000m"), far: running(home) }, {}, context).resize).toBeUndefined();
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

import { isUnsupported } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { contextOf, homePod, tokenMount, tokenVolume } from "../test-support/translation.ts";
import { farPodOf } from "./far-pod.ts";

const noFacts = { claims: new Map<string, string>() };

describe("the name", () => {
  test("is that of the home pod with a hash, in the far namespace; the hostname is the home pod's name", () => {
    const { pod } = farPodOf(homePod(), noFacts, contextOf());

    expect(pod.metadata?.name).toMatch(/^web-[a-z0-9]{10}$/);
    expect(pod.metadata?.namespace).toBe("far");
    expect(pod.spec?.hostname).toBe("web");
  });
});

describe("the injected token", () => {
  const withToken = homePod({ volumes: [tokenVolume], containers: [{ name: "main", image: "nginx:1", volumeMounts: [tokenMount] }] });

  test("is not mounted by default", () => {
    const { pod, references } = farPodOf(withToken, noFacts, contextOf());

    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, volumes: [], containers: [{ volumeMounts: [] }] });
    expect(references).toEqual({ copies: [], podSecret: undefined });
  });
});

test("an excluded config map is refused with the path of its field", () => {
  const pod = homePod({ volumes: [{ name: "conf", configMap: { name: "web" } }] });
  const translate = (): unknown => farPodOf(pod, noFacts, contextOf({ carry: { configMaps: ["other/*"] } }));

  expect(translate).toThrow(expect.toSatisfy(isUnsupported));
  expect(translate).toThrow(
    "spec.volumes[0].configMap.name: the config map shop/web stays in the home cluster; a pattern in carry.configMaps that matches it lets it travel",
  );
});

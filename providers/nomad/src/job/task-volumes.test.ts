import { expect, test } from "vitest";
import { configWith, podWith } from "../test-support/pods.ts";
import { jobSettingsOf } from "./settings.ts";
import { volumeOfClaim } from "./task-volumes.ts";

const ofShop = { type: "host", source: "shop-disk" };
const ofAll = { type: "host", source: "disk" };

test.for([
  ["shop", "db", "shop-disk"],
  ["shop", "cache", "disk"],
  ["evil", "cache", "disk"],
  ["evil", "db", undefined],
  ["evil", "shop/db", undefined],
  ["shop", "shop/db", undefined],
  ["evil", "constructor", undefined],
  ["evil", "__proto__", undefined],
])("in namespace %s, claim %s is volume %s", ([namespace, claim = "", source]) => {
  const pod = { ...podWith(), metadata: { namespace, name: "web", uid: "u-1" } };
  const config = configWith({ volumes: { "shop/db": ofShop, cache: ofAll } });

  const settings = jobSettingsOf(pod, config, { mhzPerCore: 2000, memoryOversubscription: true });

  expect(volumeOfClaim(pod, claim, settings)).toEqual(source && { type: "host", source });
});

import { expect, test } from "vitest";
import { tryEndDetail, tryUpMs } from "./status-detail.ts";

test.for([
  ["Exited(0) 3 seconds ago ", { exitCode: 0, agoMs: 3_000 }],
  ["Exited(137) 2 mins ago ", { exitCode: 137, agoMs: 120_000 }],
  ["Exited(1) 5 hours ago (error)", { exitCode: 1, agoMs: 18_000_000 }],
  ["Exited(2) 1 days ago ", { exitCode: 2, agoMs: 86_400_000 }],
  ["Exited(3) None ago ", { exitCode: 3, agoMs: 0 }],
  ["Exited(-1)", { exitCode: -1, agoMs: undefined }],
] as const)("the status detail %j tells how a container ended", ([detail, end]) => {
  expect(tryEndDetail(detail)).toEqual(end);
});

test.for(["Up 5 mins", "Created", "Restarting", "", null, undefined])("the status detail %j tells of no end", (detail) => {
  expect(tryEndDetail(detail)).toBeUndefined();
});

test.for<[string, number | undefined]>([
  ["Up 5 seconds", 5_000],
  ["Up 3 mins", 180_000],
  ["Up 3 mins (paused)", 180_000],
  ["Up 2 hours", 7_200_000],
  ["Up 1 days", 86_400_000],
  ["Up None", undefined],
  ["Up", undefined],
  ["Exited(1) 2 mins ago ", undefined],
  ["", undefined],
])("the status detail %j tells for how long a container has run at least: %j ms", ([detail, upMs]) => {
  expect(tryUpMs(detail)).toBe(upMs);
});

import { podRef } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import { resolverOf } from "../zun/support.ts";
import { callsWithin, create, createRunning, openFollowed, outcomeOf, phaseOf, untilPhase, webPod } from "../fargate/support/drive-pods.ts";

// AWS refuses requests for some time, on virtual time: nothing is lost, requests are counted, and all goes on afterwards.

const { signal } = new AbortController();
const throttling = new AwsError("ThrottlingException", "Rate exceeded");
const stormMs = 600_000;

/** At most: a pause of a class grows from 1 s to 60 s, and begins again with each success. */
const maxRefusedInStorm = 40;

test.each(["RunTask", "StopTask", "ListTasks", "DescribeTasks", "DescribeTaskDefinition", "RegisterTaskDefinition"])(
  "ten minutes of ThrottlingException for %s lose no pod, cost few requests, and all goes on afterwards",
  async (operation) => {
    const [running, leaving, coming] = [webPod(), webPod(), webPod({ containers: [{ name: "web", image: "other" }] })];
    await using fargate = await openFollowed(undefined, [running, leaving, coming]);
    await createRunning(fargate, running);
    await createRunning(fargate, leaving);
    const storm = fargate.aws.faults.add({ operation, times: Infinity, effect: { kind: "error", error: throttling } });
    const creating = outcomeOf(fargate, fargate.provider.createPod(coming, resolverOf(coming), signal));
    const deleting = outcomeOf(fargate, fargate.provider.deletePod(podRef(leaving), { gracePeriodSeconds: 1 }, signal));
    const calls = await callsWithin(fargate, stormMs);
    expect(phaseOf(fargate, running)).toBe("Running");
    expect(calls[operation]).toBeGreaterThan(2);
    expect(calls[operation]).toBeLessThan(maxRefusedInStorm);

    storm[Symbol.dispose]();
    await Promise.all([creating, deleting]);
    await outcomeOf(fargate, fargate.provider.deletePod(podRef(leaving), { gracePeriodSeconds: 1 }, signal));
    expect(await create(fargate, coming)).toBeUndefined();
    await untilPhase(fargate, coming, "Running");
    await fargate.clock.runUntil(() => phaseOf(fargate, leaving) === "gone", { withinMs: 600_000 });
    expect(phaseOf(fargate, running)).toBe("Running");
    expect(fargate.aws.tasks.all.map(({ desiredStatus }) => desiredStatus).sort()).toEqual(["RUNNING", "RUNNING", "STOPPED"]);
  },
);

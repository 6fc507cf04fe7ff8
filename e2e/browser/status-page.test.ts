import { eventually, freePort } from "@virtual-kubelet/testing";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "vitest";
import { ProgramRig, soon } from "../embedded/support/program-rig.ts";
import type { Program } from "../support/program.ts";
import { writeTroubledProvider } from "../support/troubled-provider.ts";
import { test } from "./support/browser-test.ts";

/** A program with the pods `web`, which runs, and `broken`, whose start fails with markup in its message. */
async function startProgram(rig: ProgramRig): Promise<{ readonly program: Program; readonly url: string }> {
  await writeTroubledProvider(rig.folder);
  const port = await freePort();
  const program = rig.run(`--provider ./troubled.mjs --nodename vk-1 --debug-addr 127.0.0.1:${port}`);
  await rig.nodeIsReady("vk-1");
  for (const name of ["web", "broken"]) await rig.createPod(name, "vk-1");
  await rig.podIsRunning("web");
  return { program, url: `http://127.0.0.1:${port}/` };
}

test("the page shows the node and its pods, follows them, and takes no message for markup", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using opened = await browser.goto(url);
  const { page, problems } = opened;

  await page.getByRole("heading", { name: "Node vk-1 ready" }).waitFor();
  const first = page.getByRole("row").nth(1);
  await first.filter({ hasText: 'no quota <img src=x onerror="alert(1)">' }).waitFor();
  expect(await first.getByRole("rowheader").textContent()).toBe("broken");
  expect(await page.getByRole("status").textContent()).toBe("pods with a problem: 1");

  await rig.createPod("later", "vk-1");
  await page.getByRole("rowheader", { name: "later", exact: true }).waitFor();

  expect(await page.locator("img").count()).toBe(0);
  expect(problems).toEqual([]);
});

test("the page's filter chooses pods, also by the keyboard alone", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using opened = await browser.goto(url);
  const { page } = opened;
  const names = (): Promise<string[]> => page.getByRole("rowheader").allTextContents();
  await eventually(async () => expect(await names()).toEqual(["broken", "web"]), soon);

  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.name")).toBe("namespace");
  await page.keyboard.press("Tab");
  await page.keyboard.type("web");
  await eventually(async () => expect(await names()).toEqual(["web"]), soon);
  await page.getByLabel("Pod", { exact: true }).fill("");
  await page.getByLabel("Only pods with a problem").check();

  await eventually(async () => expect(await names()).toEqual(["broken"]), soon);
});

test("the page says so when the program no longer answers", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using opened = await browser.goto(url);
  await opened.page.getByRole("rowheader", { name: "web" }).waitFor();

  await program.end("SIGKILL");

  await opened.page.getByRole("status").filter({ hasText: "The program does not answer" }).waitFor();
  expect(await opened.page.getByRole("rowheader", { name: "web" }).count()).toBe(1);
});

test("the page runs no script but its own, and no other site can read or frame it", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using own = await browser.goto(url);
  await own.page.evaluate(`
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
  `);
  expect(await own.page.evaluate("window.injected")).toBeUndefined();
  await expect.poll(() => own.problems.join()).toContain("Content Security Policy");

  const other = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><title>other site</title><iframe src="${url}"></iframe>`);
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  await using _other = other;
  const { port } = other.address() as AddressInfo;
  await using foreign = await browser.goto(`http://localhost:${port}/`);
  const read = await foreign.page.evaluate(`fetch("${url}status").then(({ status }) => status, () => "refused")`);

  expect(read).toBe("refused");
  const frame = foreign.page.frames()[1];
  expect(await frame?.content()).not.toContain("Virtual Kubelet");
});

test("at the name of another site that resolves to this machine there is no page", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using opened = await browser.open();

  const answer = await opened.page.goto(url.replace("127.0.0.1", "rebound.test"));

  expect([answer?.status(), await answer?.text()]).toEqual([403, expect.stringContaining("expected localhost or a loopback address")]);
});

test.for([
  [390, "light"],
  [390, "dark"],
  [1280, "light"],
  [1280, "dark"],
] as const)("the page can be read at %i pixels in the %s scheme", async ([width, colorScheme], { browser }) => {
  await using rig = await ProgramRig.open();
  const { program, url } = await startProgram(rig);
  await using _program = program;
  await using opened = await browser.goto(url, { width, colorScheme });
  const { page } = opened;
  await page.getByRole("rowheader", { name: "broken" }).waitFor();

  // All columns are in the table for screen readers, and nothing is to be scrolled sideways.
  expect(await page.getByRole("columnheader").allTextContents()).toEqual([
    "Namespace",
    "Pod",
    "Phase",
    "Back end",
    "Next",
    "Doing",
    "Problem",
  ]);
  expect(await page.getByRole("row").nth(1).getByRole("cell").count()).toBe(6);
  expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0);
  const contrasts = await page.evaluate<{ text: string; ratio: number }[]>(contrastsInPage);
  expect(contrasts.length).toBeGreaterThan(20);
  expect(contrasts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
});

/** Contrast of each text with what is behind it, by WCAG 2.1, which asks for 4.5. */
const contrastsInPage = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [red, green, blue] = channels(color).slice(0, 3).map((value) => value / 255).map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return channels(color)[3] === 0 && element.parentElement ? behind(element.parentElement) : color;
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "") && element.checkVisibility() && !["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName));
  return texts.map((element) => {
    const [light, dark] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => b - a);
    return { text: element.textContent.slice(0, 40), ratio: (light + 0.05) / (dark + 0.05) };
  });
})()`;

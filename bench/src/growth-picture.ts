import { LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use, type EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { cpuMsPerPod, kibibytesPerPod, type GrowthData, type GrowthRun } from "./growth-data.ts";

/** Colors of a picture, each with the one of the dark scheme. */
const colors = {
  ink: ["#1f2328", "#e6edf3"],
  dim: ["#656d76", "#8d96a0"],
  grid: ["#d8dee4", "#30363d"],
  ours: ["#0969da", "#58a6ff"],
  other: ["#bc4c00", "#f0883e"],
  aim: ["#8c959f", "#6e7681"],
} as const;

const [ink, dim, grid, oursColor, otherColor, aimColor] = Object.values(colors).map(([light]) => light);
const width = 760;
const height = 320;

/** Draws memory and processor time a pod over the number of pods. */
export function drawGrowth({ runs }: GrowthData): string {
  const panels = [
    { name: "KiB of memory a pod", of: kibibytesPerPod },
    { name: "milliseconds of processor time a pod", of: cpuMsPerPod },
  ];
  const sizes = runs.map(({ pods }) => pods);
  const series = panels.flatMap(({ of }, panel) =>
    (["ours", "bare loop"] as const).map((name) => ({
      ...line(name === "ours" ? oursColor : otherColor),
      name,
      xAxisIndex: panel,
      yAxisIndex: panel,
      symbol: "circle",
      symbolSize: 6,
      data: pointsOf(runs, name, of),
    })),
  );
  return render("Memory and processor time a pod, by the number of pods", {
    title: panels.map(({ name }, panel) => ({ ...title(name), left: panel === 0 ? 12 : 392 })),
    legend: { ...legend, data: ["ours", "bare loop"] },
    grid: panels.map((_, panel) => ({ top: 48, bottom: 64, left: panel === 0 ? 52 : 432, width: 310 })),
    xAxis: panels.map((_, gridIndex) => ({
      ...axis("pods"),
      type: "log",
      gridIndex,
      min: Math.min(...sizes),
      max: Math.max(...sizes),
      splitLine: { show: false },
    })),
    yAxis: panels.map((_, gridIndex) => ({ ...axis(), type: "value", min: 0, gridIndex })),
    series,
  });
}

/** Draws the pauses of two event loops while one of them lists many pods. */
export function drawPauses({ firstList: { pods, binMs, ours, idle } }: GrowthData): string {
  const points = (pauses: readonly number[]): number[][] => pauses.map((ms, bin) => [((bin + 1) * binMs) / 1000, ms]);
  const seconds = (Math.max(ours.length, idle.length) * binMs) / 1000;
  const aimMs = 50;
  return render(`Longest pauses of the event loop from the first list of ${pods} pods until all run`, {
    title: { ...title(`longest pause in each ${binMs} ms, in milliseconds`), left: 12 },
    // Readers' fonts are wider than the library assumes, most of all in the longest name.
    legend: { ...legend, itemGap: 64, data: ["our node", "a program that does nothing", "aim"] },
    grid: { top: 48, bottom: 64, left: 52, right: 20 },
    xAxis: { ...axis("seconds since the request for the list"), type: "value", min: 0, max: seconds, splitLine: { show: false } },
    yAxis: { ...axis(), type: "value", min: 0 },
    series: [
      { ...line(oursColor), name: "our node", symbol: "none", data: points(ours) },
      { ...line(otherColor), name: "a program that does nothing", symbol: "none", data: points(idle) },
      {
        ...line(aimColor, "dashed"),
        name: "aim",
        symbol: "none",
        data: [
          [0, aimMs],
          [seconds, aimMs],
        ],
      },
    ],
  });
}

function pointsOf(runs: readonly GrowthRun[], contender: GrowthRun["contender"], of: (run: GrowthRun) => number): number[][] {
  const own = runs.filter((run) => run.contender === contender).toSorted((a, b) => a.pods - b.pods);
  return own.map((run) => [run.pods, Math.round(of(run) * 100) / 100]);
}

const legend = { bottom: 4, textStyle: { color: ink }, itemGap: 24 };

function title(text: string): object {
  return { text, top: 8, textStyle: { color: ink, fontSize: 14, fontWeight: "normal" } };
}

function line(color: string | undefined, type: "solid" | "dashed" = "solid"): object {
  return { type: "line", color, lineStyle: { color, width: 2, type }, itemStyle: { color } };
}

function axis(name?: string): object {
  return {
    ...(name !== undefined && { name, nameLocation: "middle", nameGap: 26, nameTextStyle: { color: dim } }),
    axisLabel: { color: dim },
    axisLine: { lineStyle: { color: aimColor } },
    axisTick: { lineStyle: { color: aimColor } },
    splitLine: { lineStyle: { color: grid } },
    minorTick: { show: false },
  };
}

/** Renders a chart as an SVG that follows the reader's color scheme. The same data give the same text. */
function render(description: string, option: EChartsCoreOption): string {
  use([GridComponent, LegendComponent, LineChart, SVGRenderer, TitleComponent]);
  const chart = init(undefined, undefined, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, backgroundColor: "transparent", ...option });
    const svg = chart.renderToSVGString();
    const dark = Object.values(colors).map(([light, shade]) => `[fill="${light}"]{fill:${shade}}[stroke="${light}"]{stroke:${shade}}`);
    const head = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
      `<title>${description}</title>`,
      `<style>text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}`,
      `@media(prefers-color-scheme:dark){${dark.join("")}}</style>`,
    ];
    const body = svg
      .slice(svg.indexOf(">") + 1)
      // The library numbers the charts of a process, and marks parts for scripts in a page.
      .replaceAll(/zr\d+-/g, "zr-")
      .replaceAll(/<path [^>]*fill-opacity="0"[^>]*stroke-width="0"[^>]*><\/path>\n?/g, "")
      .replaceAll(/ (?:ecmeta_\w+|pointer-events)="[^"]*"/g, "")
      .replaceAll("font-family:sans-serif;", "")
      .replaceAll(/<style\s*>[\s\S]*?<\/style>/g, "")
      .replaceAll(/ class="zr-cls-\d+"/g, "");
    return `${head.join("\n")}\n${body.trim()}\n`;
  } finally {
    chart.dispose();
  }
}

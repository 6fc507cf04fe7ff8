/** Source of this file: k8s.io/kube-openapi pkg/validation/strfmt/date.go and time.go. */

/** Whether a string is a date such as `2026-01-31`. */
export function dateHasFormat(value: string): boolean {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value) ?? [];
  if (year === "") return false;
  // The rule for leap years repeats every 400 years, and Date takes years below 100 for those of the twentieth century.
  const date = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

/** Whether a string is a time such as `2026-01-31T12:00:00Z`. */
export function dateTimeHasFormat(value: string): boolean {
  const [date = "", time] = value.toLowerCase().split("t");
  if (time === undefined || !dateHasFormat(date)) return false;
  const [, hours = "", minutes = "", seconds = ""] = /^(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return hours !== "" && hours <= "23" && minutes <= "59" && seconds <= "59";
}

// Numbers and names as people read them.

const grouped = new Intl.NumberFormat("en-US");
const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const SPACE = "\u00a0";

export function count(value) {
  return grouped.format(value);
}

// 1,234 · 12.3 k · 4.56 M
export function short(value) {
  if (value < 10_000) return grouped.format(Math.round(value));
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) {
      const scaled = value / size;
      return scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0) + SPACE + unit;
    }
  }
  return String(value);
}

// Amounts arrive as exact decimals in text; for people a few digits are enough.
export function money(text) {
  const value = Number(text) || 0;
  if (value === 0) return "$0";
  const size = Math.abs(value);
  if (size >= 10_000) return "$" + grouped.format(Math.round(value));
  if (size >= 0.095) return "$" + cents.format(value);
  if (size >= 0.00001) return "$" + Number(value.toPrecision(2)).toFixed(6).replace(/0+$/, "");
  return "< $0.00001";
}

// A round amount, such as a budget or the end of an axis: without .00
export function amount(text) {
  return money(text).replace(/\.00$/, "");
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 10) return value.toFixed(1) + SPACE + "ms";
  if (value < 1000) return Math.round(value) + SPACE + "ms";
  if (value < 60_000) return (value / 1000).toFixed(value < 10_000 ? 2 : 1) + SPACE + "s";
  return duration(value);
}

export function duration(value) {
  const seconds = Math.floor(value / 1000);
  if (seconds < 60) return seconds + SPACE + "s";
  if (seconds < 3600) return Math.floor(seconds / 60) + SPACE + "min";
  if (seconds < 172_800) return Math.floor(seconds / 3600) + SPACE + "h";
  return Math.floor(seconds / 86_400) + SPACE + "days";
}

export function bytes(value) {
  return value < 10_000 ? grouped.format(value) + SPACE + "B" : short(value) + "B";
}

export function percent(part, whole) {
  if (!whole) return "0" + SPACE + "%";
  const share = (100 * part) / whole;
  return (share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)) + SPACE + "%";
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// 2026-11-16 → 16 Nov
export function day(text) {
  const [, month, date] = text.split("-");
  return Number(date) + SPACE + (MONTHS[Number(month) - 1] ?? month);
}

// rate_limit → rate limit
export function words(name) {
  return name.replaceAll("_", " ");
}

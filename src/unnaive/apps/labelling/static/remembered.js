// What the page remembers, in cookies: after a restart it may be on another port, and ports share cookies.

const YEAR = 31536000; // seconds

export function remember(name, value) {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=${value ? YEAR : 0}; samesite=strict`;
}

export function remembered(name) {
  const part = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  try {
    return part ? decodeURIComponent(part.slice(name.length + 1)) : "";
  } catch {
    return "";
  }
}

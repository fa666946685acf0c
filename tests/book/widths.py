"""Is anything wider than its box? Code, outputs, equations, tables and figures, measured in the browser."""
from __future__ import annotations

SCREENS, PHONE, HEIGHT = (1280, 1366, 1440, 1920), 390, 900

# What is folded is opened first: a reader will open it.
UNFOLD = """() => {
    for (const e of document.querySelectorAll('details')) e.open = true;
    for (const e of document.querySelectorAll('.toggle-hidden')) e.classList.remove('toggle-hidden');
}"""
# A box is cut off by as much as its content reaches beyond the first thing around it that clips: itself, a scrolling box,
# the window. A text output wraps, so that its sentences are read whole; columns that wrap are as good as cut off.
MEASURE = """onAPhone => {
    const clips = e => getComputedStyle(e).overflowX !== 'visible';
    const inner = e => e.getBoundingClientRect().left + e.clientLeft + e.clientWidth;
    const aligned = line => /\\S {2,}\\S.* {2,}\\S/.test(line);
    const reach = e => Math.max(...[e, ...e.querySelectorAll('mjx-math, mjx-mtable')].map(
        part => part.getBoundingClientRect().left + Math.max(part.getBoundingClientRect().width, part.scrollWidth || 0)));
    const columns = e => {
        const look = getComputedStyle(e), pen = document.createElement('canvas').getContext('2d');
        pen.font = `${look.fontSize} ${look.fontFamily}`;
        const width = Math.max(0, ...e.textContent.split('\\n').filter(aligned).map(line => pen.measureText(line).width));
        return width - (e.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight));
    };
    const found = [];
    for (const e of document.querySelectorAll('.bd-article :is(pre, div.math, table, figure, img, svg, canvas, .afm-view)')) {
        const place = e.getBoundingClientRect();
        if (!place.width || !e.checkVisibility() || e.closest('mjx-container')) continue;
        let cut = Math.max(reach(e) - innerWidth, -place.left), box = null;
        for (let a = e; a; a = a.parentElement)
            if (clips(a) && reach(e) - inner(a) > Math.max(cut, 1)) [cut, box] = [reach(e) - inner(a), a];
        if (e.matches('pre') && getComputedStyle(e).whiteSpace === 'pre-wrap') cut = Math.max(cut, onAPhone ? 0 : columns(e));
        if (cut <= 1) continue;
        const look = box && getComputedStyle(box);
        found.push({kind: e.matches('pre') ? (getComputedStyle(e).whiteSpace === 'pre-wrap' && !e.closest('.highlight')
                              || e.closest('.cell_output') && !e.closest('.highlight') ? 'output' : 'code')
                          : e.matches('div.math') ? 'equation' : e.tagName.toLowerCase(),
                    cut: Math.round(cut),
                    scrolls: Boolean(look && ['auto', 'scroll'].includes(look.overflowX)),
                    edge: Boolean(look && parseFloat(look.borderRightWidth) >= 1 && look.boxShadow !== 'none'),
                    text: (e.matches('pre') ? e.textContent.split('\\n').reduce((a, b) => b.length > a.length ? b : a)
                           : e.querySelector('mjx-assistive-mml annotation')?.textContent || e.textContent
                             || e.alt || String(e.className)).trim().replace(/\\s+/g, ' ').slice(0, 100)});
    }
    return found;
}"""


def resize(page, width: int):
    """To another width; waits until the sidebar has slid into its place and what scrolls is marked."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.evaluate("() => document.getAnimations().forEach(one => one.effect.getTiming().iterations === Infinity || one.finish())")


def on_screens(page) -> list[str]:
    """Which boxes are cut off on a screen, each with the widths at which it is."""
    found: dict[tuple, list[str]] = {}
    for width in SCREENS:
        resize(page, width)
        for box in page.evaluate(MEASURE, False):
            found.setdefault((box["kind"], box["text"]), []).append(f"{box['cut']} at {width}")
    return [f"{kind} cut off by {', '.join(cuts)} pixels: {text}" for (kind, text), cuts in found.items()]


def on_the_phone(page) -> list[str]:
    """Which outputs do not wrap on a phone, and which tables do not scroll in a box with a visible edge.

    Boxes that scroll are marked some frames after they do; one that never is, is waited for in vain.
    """
    resize(page, PHONE)
    for _ in range(10):
        found = []
        for box in page.evaluate(MEASURE, True):
            fault = ("does not wrap" if box["kind"] == "output" else "" if box["scrolls"] and box["edge"] else
                     "scrolls without a visible edge" if box["scrolls"] else "does not scroll")
            if fault:
                found.append(f"on a phone the {box['kind']} {fault} ({box['cut']} pixels): {box['text']}")
        if not found:
            break
        page.wait_for_timeout(100)
    return found


def cut_off(page) -> list[str]:
    page.evaluate(UNFOLD)
    return on_screens(page) + on_the_phone(page)

// A turnable curve on a canvas, without other code: dragging turns it, the wheel zooms once it was
// clicked, hovering names a position. `data` has the points as 16-bit integers, their colours, and
// texts.
(id, data) => {
  const root = document.getElementById(id);
  if (!root || root.dataset.drawn) return;
  root.dataset.drawn = 'yes';
  const canvas = root.querySelector('canvas'), tip = root.querySelector('[data-tip]');
  const pen = canvas.getContext('2d');
  const bytes = Uint8Array.from(atob(data.points), (c) => c.charCodeAt(0));
  const points = new Int16Array(bytes.buffer), count = points.length / 3;
  const norms = data.norms && new Float32Array(
    Uint8Array.from(atob(data.norms), (c) => c.charCodeAt(0)).buffer);
  let azimuth = data.azimuth, elevation = data.elevation, zoom = 1, held = null, near = -1;
  let places = [];
  const ink = () => getComputedStyle(root).color;
  const basis = () => {
    const [ca, sa] = [Math.cos(azimuth), Math.sin(azimuth)];
    const [ce, se] = [Math.cos(elevation), Math.sin(elevation)];
    return [[-sa, ca, 0], [-ca * se, -sa * se, ce], [ca * ce, sa * ce, se]];
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const color = (i) => data.colors[
    Math.round(i / Math.max(1, count - 1) * (data.colors.length - 1))];
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const [right, up, back] = basis(), size = 0.46 * zoom * Math.min(width, height) / 32767;
    places = [];
    for (let i = 0; i < count; i++) {
      const p = points.subarray(3 * i, 3 * i + 3);
      places.push([width / 2 + size * dot(right, p), height / 2 - size * dot(up, p), dot(back, p)]);
    }
    pen.lineCap = 'round';
    const order = [...places.keys()].sort((a, b) => places[a][2] - places[b][2]);
    for (const i of order) {
      const [x, y, depth] = places[i];
      pen.globalAlpha = 0.65 + 0.35 * (depth / 32767 + 1) / 2;
      pen.strokeStyle = pen.fillStyle = color(i);
      if (data.line && i) {
        pen.lineWidth = 1.5;
        pen.beginPath();
        pen.moveTo(places[i - 1][0], places[i - 1][1]);
        pen.lineTo(x, y);
        pen.stroke();
      }
      pen.beginPath();
      pen.arc(x, y, i === near ? 5 : 2, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = ink();
    pen.font = '11px system-ui, sans-serif';
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    for (let k = 0; k < 3; k++) {  // the axes, in the lower left corner
      const [x, y] = [34 + 20 * right[k], height - 34 - 20 * up[k]];
      pen.globalAlpha = 0.6;
      pen.beginPath();
      pen.moveTo(34, height - 34);
      pen.lineTo(x, y);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillText(k + 1, 34 + 28 * right[k], height - 34 - 28 * up[k]);
    }
  };
  const name = (i) => {
    tip.textContent = `${data.row} ${data.first + data.step * i}` +
      (norms ? ` · norm ${norms[i].toPrecision(4)}` : '');
  };
  canvas.addEventListener('pointerdown', (e) => {
    held = [e.clientX, e.clientY];
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointerup', () => { held = null; });
  canvas.addEventListener('pointermove', (e) => {
    if (held) {
      azimuth -= 0.01 * (e.clientX - held[0]);
      elevation = Math.max(-1.57, Math.min(1.57, elevation + 0.01 * (e.clientY - held[1])));
      held = [e.clientX, e.clientY];
    } else {
      const box = canvas.getBoundingClientRect();
      const [x, y] = [e.clientX - box.left, e.clientY - box.top];
      let best = 100;
      near = -1;
      places.forEach((p, i) => {
        const d = (p[0] - x) ** 2 + (p[1] - y) ** 2;
        if (d < best) [best, near] = [d, i];
      });
      if (near < 0) tip.textContent = '';
      else name(near);
    }
    draw();
  });
  canvas.addEventListener('wheel', (e) => {
    if (!canvas.matches(':focus')) return;  // the page is scrolled
    e.preventDefault();
    zoom = Math.max(0.3, Math.min(20, zoom * Math.exp(-0.001 * e.deltaY)));
    draw();
  }, {passive: false});
  canvas.addEventListener('keydown', (e) => {
    const turn = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1],
      ArrowDown: [0, -0.1]}[e.key];
    if (!turn) return;
    e.preventDefault();
    azimuth += turn[0];
    elevation = Math.max(-1.57, Math.min(1.57, elevation + turn[1]));
    draw();
  });
  new ResizeObserver(draw).observe(canvas);
  draw();
}

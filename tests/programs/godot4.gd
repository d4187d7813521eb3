# Meshes that the Compatibility renderer of Godot 4 captures, for godot4.sh: those with blend shapes, a skeleton, or both; beside
# them are a plain one, and particles, which are captured, too. Each is a square of its own colour, which the time 0 has at the
# left, and 1 four units further to the right. Prints cases, writes a picture of each time, and ends.
extends SceneTree

const SIZE = 128
# Of each square: the y of its center, its color, how far the blend shape and the bones move it, and flags of its bones.
const SQUARES = {
	"a plain mesh": [3.2, Color(1, 0, 0), 0.0, 0.0, 0],
	"a blend shape": [1.9, Color(0, 1, 0), 4.0, 0.0, 0],
	"a skeleton": [0.6, Color(0, 0, 1), 0.0, 4.0, 0],
	"a blend shape and a skeleton": [-0.7, Color(1, 1, 0), 3.0, 1.0, 0],
	"a blend shape and a skeleton, eight bones each": [-2.0, Color(0, 1, 1), 1.0, 3.0, Mesh.ARRAY_FLAG_USE_8_BONE_WEIGHTS],
}
const LEFT = -2.5

var instances = []
var skeletons = []

func material(color):
	var made = StandardMaterial3D.new()
	made.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	made.albedo_color = color
	made.cull_mode = BaseMaterial3D.CULL_DISABLED
	return made

func square(y, color, by_shape, by_bone, flags):
	var corners = [Vector3(-0.5, -0.5, 0), Vector3(0.5, -0.5, 0), Vector3(0.5, 0.5, 0), Vector3(-0.5, 0.5, 0)]
	var normals = PackedVector3Array([Vector3.BACK, Vector3.BACK, Vector3.BACK, Vector3.BACK])
	var arrays = []
	arrays.resize(Mesh.ARRAY_MAX)
	arrays[Mesh.ARRAY_VERTEX] = PackedVector3Array(corners)
	arrays[Mesh.ARRAY_NORMAL] = normals
	arrays[Mesh.ARRAY_INDEX] = PackedInt32Array([0, 1, 2, 0, 2, 3])
	if by_bone:
		var each = 8 if flags else 4
		var bones = PackedInt32Array()
		var weights = PackedFloat32Array()
		for i in 4 * each:
			# The last two have all the weight together.
			bones.append(maxi(i % each - (each - 3), 0))
			weights.append([0.75, 0.25][each - 1 - i % each] if i % each >= each - 2 else 0.0)
		arrays[Mesh.ARRAY_BONES] = bones
		arrays[Mesh.ARRAY_WEIGHTS] = weights
	var mesh = ArrayMesh.new()
	var shapes: Array[Array] = []
	if by_shape:
		mesh.add_blend_shape("right")
		mesh.blend_shape_mode = Mesh.BLEND_SHAPE_MODE_NORMALIZED
		var shape = []
		shape.resize(Mesh.ARRAY_MAX)
		shape[Mesh.ARRAY_VERTEX] = PackedVector3Array(corners.map(func(corner): return corner + Vector3(by_shape, 0, 0)))
		shape[Mesh.ARRAY_NORMAL] = normals
		shapes.append(shape)
	mesh.add_surface_from_arrays(Mesh.PRIMITIVE_TRIANGLES, arrays, shapes, {}, flags)
	mesh.surface_set_material(0, material(color))

	var instance = MeshInstance3D.new()
	instance.mesh = mesh
	var parent = Node3D.new()
	if by_bone:
		parent = Skeleton3D.new()
		for name in ["root", "right", "also right"]:
			parent.add_bone(name)
		skeletons.append([parent, by_bone])
	parent.position = Vector3(LEFT, y, 0)
	parent.add_child(instance)
	root.add_child(parent)
	instance.skeleton = NodePath("..")
	if by_shape:
		instances.append(instance)

func particles():
	var moving = ParticleProcessMaterial.new()
	moving.gravity = Vector3.ZERO
	moving.direction = Vector3.RIGHT
	moving.spread = 0
	moving.initial_velocity_min = 4
	moving.initial_velocity_max = 4
	var mesh = QuadMesh.new()
	mesh.size = Vector2(0.3, 0.6)
	mesh.material = material(Color(1, 0, 1))
	var made = GPUParticles3D.new()
	made.amount = 6
	made.lifetime = 1.2
	made.process_material = moving
	made.draw_pass_1 = mesh
	made.fixed_fps = 0
	made.interpolate = false
	made.position = Vector3(LEFT, -3.2, 0)
	root.add_child(made)

func move(time):
	for instance in instances:
		instance.set_blend_shape_value(0, time)
	for skeleton in skeletons:
		for bone in [1, 2]:
			skeleton[0].set_bone_pose_position(bone, Vector3(skeleton[1] * time, 0, 0))

func is_at(image, x, y, color):
	return image.get_pixel(int((x + 4) * SIZE / 8), int((4 - y) * SIZE / 8)).is_equal_approx(color)

func _initialize():
	RenderingServer.set_default_clear_color(Color.BLACK)
	var camera = Camera3D.new()
	camera.set_orthogonal(8, 1, 20)
	camera.position = Vector3(0, 0, 10)
	root.add_child(camera)
	for name in SQUARES:
		callv("square", SQUARES[name])
	particles()

	var wrong = {}
	for time in [0.0, 0.25, 1.0, 0.5]:
		move(time)
		# Twelve frames, for the particles.
		for i in 12:
			await RenderingServer.frame_post_draw
		var image = root.get_texture().get_image()
		image.save_png("res://%d.png" % (time * 100))
		image.convert(Image.FORMAT_RGB8)
		for name in SQUARES:
			var of = SQUARES[name]
			var right = LEFT + (of[2] + of[3]) * time
			for x in [-0.4, 0.4]:
				if not is_at(image, right + x, of[0], of[1]):
					wrong[name] = "at the time %s its color is not at %s" % [time, right + x]
			for x in [-0.6, 0.6]:
				if not is_at(image, right + x, of[0], Color.BLACK):
					wrong[name] = "at the time %s something is at %s" % [time, right + x]
	for name in SQUARES:
		print("case\t%s\t%s\t%s" % [name, "fail" if wrong.has(name) else "pass", wrong.get(name, "")])
	quit()
